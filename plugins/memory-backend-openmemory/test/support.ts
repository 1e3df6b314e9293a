import { createHash } from 'node:crypto';
import {
  type FakeOpenMemory,
  type FakeOpenMemoryOptions,
  startFakeOpenMemory,
} from 'mortise/contracts/memory-backend-openmemory/testing';
import {
  type BackendFailure,
  extendContext,
  type MemoryBackend,
  type MemoryBackendContext,
  type MemoryItem,
  MortiseError,
  type StoredMemory,
} from 'mortise/sdk';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

/** A platform whose backend calls a fake server. */
export interface Subject {
  readonly host: TestHost;
  readonly server: FakeOpenMemory;
  call<R>(run: (backend: MemoryBackend, ctx: MemoryBackendContext) => R | Promise<R>, timeoutMs?: number): Promise<R>;
  store(change?: Partial<MemoryItem>, timeoutMs?: number): Promise<StoredMemory>;
  stop(): Promise<void>;
}

interface SubjectOptions extends FakeOpenMemoryOptions {
  readonly env?: Readonly<Record<string, string>>;
}

export function item(change: Partial<MemoryItem> = {}): MemoryItem {
  const content = change.content ?? 'Deploys happen on Tuesdays.';
  return {
    memoryKey: 'mk_1',
    content,
    space: 'private:alice',
    kind: 'FACT',
    meta: { topic: 'deploys' },
    evidence: [{ uri: 'https://example.org/log', sha256: 'ab'.repeat(32) }],
    actorUserId: 'alice',
    payloadSha: createHash('sha256').update(content).digest('hex'),
    correlationId: 'corr-0123456789abcdef',
    ...change,
  };
}

export async function openSubject(options: SubjectOptions = {}): Promise<Subject> {
  const server = await startFakeOpenMemory(options);
  const host = await createTestHost({
    plugins: ['memory-backend-openmemory'],
    listen: false,
    env: { OPENMEMORY_BASE_URL: `${server.origin}/`, ...options.env },
  });
  const call: Subject['call'] = (run, timeoutMs = 5_000) =>
    host.points.call(
      'memory-backend',
      'openmemory',
      (backend, ctx) => run(backend, extendContext(ctx, { timeoutMs })),
      {
        timeoutMs,
      },
    );
  return {
    host,
    server,
    call,
    store: (change, timeoutMs) => call((backend, ctx) => backend.store(item(change), ctx), timeoutMs),
    async stop() {
      await host.stop();
      await server.stop();
    },
  };
}

/** The failure of a call, as its callers read it. */
export async function failureOf(
  call: Promise<unknown>,
): Promise<BackendFailure['details'] & { readonly message: string }> {
  const error = await call.then(
    () => new Error('It did not fail.'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof MortiseError)) throw error;
  return { message: error.message, ...(error.details as BackendFailure['details']) };
}
