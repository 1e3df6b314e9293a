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
  /** Writes the platform's own row of a memory in the same transaction, for backends that read their texts there. */
  readonly keep?: (host: TestHost, item: MemoryItem, stored: StoredMemory, trx: Transaction) => Promise<void>;
  /** Boots a platform whose store cannot be reached. */
  readonly unreachable?: () => Promise<TestHost>;
}

export const textMark = 'zanzibar';

const syllables = ['ba', 'do', 'fi', 'gu', 'ka', 'lo', 'mi', 'nu', 'pa', 'ro'];

/** A word that is unique to the number and similar to no other: 5 is `xlox`. */
export function wordOf(number: number): string {
  return `x${[...String(number)].map((digit) => syllables[Number(digit)]).join('')}x`;
}

/** A memory as the platform stores it; each number gives a different text with a unique word. */
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

/** Calls the backend, with the transaction that the platform would pass. */
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

/** Stores as the platform does: inside a transaction with the platform's own row for a transactional backend. */
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

/** Thrown to roll back a transaction. */
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
