import { createHash } from 'node:crypto';
import { extendContext } from '../../context.js';
import type { Transaction } from '../../host/database.js';
import type {
  MemoryBackend,
  MemoryBackendContext,
  MemoryBackendFacts,
  MemoryFilters,
  MemoryItem,
  StoredMemory,
} from '../../points/memory-backend.js';
import type { CallOptions } from '../../points.js';
import type { TestHost } from '../create-test-host.js';
import { callLimitMs, ownerOf } from './common-checks.js';
import type { Subject } from './contract.js';
import { frozenCopy } from './hostile.js';

export interface MemoryBackendSubject extends Subject {
  /** What the platform writes beside a memory, in its transaction, for backends that read their texts there. */
  readonly keep?: (host: TestHost, item: MemoryItem, stored: StoredMemory, trx: Transaction) => Promise<void>;
  /** A platform whose store cannot be reached. */
  readonly unreachable?: () => Promise<TestHost>;
}

export const textMark = 'zanzibar';

const syllables = ['ba', 'do', 'fi', 'gu', 'ka', 'lo', 'mi', 'nu', 'pa', 'ro'];

/** A word that no other number has, nor any word like it: 5 is `xlox`. */
export function wordOf(number: number): string {
  return `x${[...String(number)].map((digit) => syllables[Number(digit)]).join('')}x`;
}

/** A memory like those that the platform stores; each number is another text with a word of its own. */
export function memoryItem(number: number, more: Partial<MemoryItem> = {}): MemoryItem {
  const content = more.content ?? `fact ${wordOf(number)} about the harbour of ${textMark}`;
  return {
    memoryKey: `contract-${number}`,
    content,
    space: 'private:contract',
    kind: null,
    meta: {},
    evidence: [],
    actorUserId: 'contract-user',
    payloadSha: createHash('sha256').update(content).digest('hex'),
    correlationId: 'corr-0123456789abcdef',
    ...more,
  };
}

export const factsOf = (host: TestHost, key: string): MemoryBackendFacts | undefined =>
  host.points.list('memory-backend').find((one) => one.key === key && one.active)?.facts;

/** One call of the backend, with the transaction that the platform would hand over. */
export function use<R>(
  host: TestHost,
  { key }: MemoryBackendSubject,
  run: (backend: MemoryBackend, ctx: MemoryBackendContext) => Promise<R>,
  { trx, ...options }: CallOptions & { readonly trx?: Transaction | undefined } = {},
): Promise<R> {
  const added = { timeoutMs: callLimitMs, ...(trx ? { trx } : {}) };
  return host.points.call('memory-backend', key, (backend, ctx) => run(backend, extendContext(ctx, added)), {
    timeoutMs: callLimitMs,
    ...options,
  });
}

/** Stores as the platform does: a transactional backend inside a transaction, with what belongs beside the memory. */
export async function store(
  host: TestHost,
  subject: MemoryBackendSubject,
  item: MemoryItem,
  options?: CallOptions & { readonly rollBack?: boolean },
): Promise<StoredMemory> {
  const given = frozenCopy(item);
  const { rollBack = false, ...call } = options ?? {};
  if (!factsOf(host, subject.key)?.capabilities.transactional)
    return use(host, subject, (backend, ctx) => backend.store(given, ctx), call);
  const database = host.app.database.forPlugin(ownerOf(host, 'memory-backend', subject.key) ?? 'contract', []);
  return database.transaction(async (trx) => {
    const stored = await use(host, subject, (backend, ctx) => backend.store(given, ctx), { ...call, trx });
    await subject.keep?.(host, item, stored, trx);
    if (rollBack) throw new RolledBack();
    return stored;
  });
}

/** What a transaction is ended with when nothing of it may stay. */
export class RolledBack extends Error {}

export function search(host: TestHost, subject: MemoryBackendSubject, query: string, more: Search = {}) {
  const { spaces = ['private:contract'], filters = {}, limit = 10, ...options } = more;
  const given = frozenCopy({ query, spaces, filters, limit });
  return use(host, subject, async (backend, ctx) => (await backend.search(given, ctx)).hits, options);
}

interface Search extends CallOptions {
  readonly spaces?: readonly string[];
  readonly filters?: MemoryFilters;
  readonly limit?: number;
}
