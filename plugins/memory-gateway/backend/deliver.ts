import { setTimeout as delay } from 'node:timers/promises';
import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { Delivery, DeliveryOptions, FailedDelivery, MemoryService } from 'mortise/contracts/memory-gateway';
import type { MemoryItem, StoredMemory } from 'mortise/sdk';
import { codePoints } from '../store/hashes.js';
import { judgeStored } from './judge-stored.js';
import { type BackendTrouble, isCircuitOpen, readFailure } from './read-failure.js';

export interface DeliverParts {
  readonly backend: Pick<MemoryService, 'backend' | 'facts' | 'store' | 'storeMany' | 'get'>;
  /** Ledger rows by the backend's ids. */
  known(ids: readonly string[]): Promise<readonly LedgerMemory[]>;
  readonly timeoutMs: number;
}

const REPEAT_AFTER_MS = 100;
/** A repeated call needs some time to be worth it. */
const SHORTEST_CALL_MS = 250;
const repeatable: readonly number[] = [502, 503, 504];

/** What an error of the backend means for the memory it was called for. */
export function failedBy(error: unknown): FailedDelivery {
  const { class: kind, detail, message, applied, retryAfterMs } = readFailure(error);
  return {
    kind: 'failed',
    class: kind,
    detail: isCircuitOpen(error) ? 'circuit_open' : detail,
    message,
    applied,
    retryAfterMs,
    mergedInto: null,
  };
}

function tooLong(limit: number): FailedDelivery {
  return {
    kind: 'failed',
    class: 'permanent',
    detail: 'content_too_long',
    message: `the memory backend takes at most ${limit} characters`,
    applied: 'no',
    retryAfterMs: null,
    mergedInto: null,
  };
}

/** Whether the same call can help at once, and cannot double the memory. */
function mayRepeat(trouble: BackendTrouble, isIdempotent: boolean): boolean {
  const isPassing =
    trouble.status === null ? trouble.detail === 'connection_error' : repeatable.includes(trouble.status);
  return isPassing && trouble.retryAfterMs === null && (trouble.applied === 'no' || isIdempotent);
}

function limitOf({ backend }: DeliverParts): number {
  return backend.facts()?.limits?.maxContentChars ?? Number.POSITIVE_INFINITY;
}

async function judge(
  item: MemoryItem,
  stored: StoredMemory,
  parts: DeliverParts,
  timeoutMs: number,
): Promise<Delivery> {
  const rows = await parts.known([stored.id]);
  const known = rows.filter(({ memoryKey }) => memoryKey !== item.memoryKey);
  return judgeStored(item, stored, { known, read: (id) => parts.backend.get(id, { timeoutMs }) });
}

/** Stores one memory within the time given, and says what came of it. Only the database's errors are thrown. */
export async function deliver(item: MemoryItem, options: DeliveryOptions, parts: DeliverParts): Promise<Delivery> {
  const { signal, correlationId, timeoutMs = parts.timeoutMs, repeats = false } = options;
  if (codePoints(item.content) > limitOf(parts)) return tooLong(limitOf(parts));
  const deadline = performance.now() + timeoutMs;
  const left = () => Math.max(1, Math.round(deadline - performance.now()));
  const store = () => parts.backend.store(item, { signal, correlationId, timeoutMs: left() });
  let stored: StoredMemory;
  try {
    stored = await store();
  } catch (error) {
    const isIdempotent = parts.backend.facts()?.capabilities.idempotent === true;
    const isOver = left() < REPEAT_AFTER_MS + SHORTEST_CALL_MS || signal?.aborted === true;
    if (!repeats || isOver || isCircuitOpen(error) || !mayRepeat(readFailure(error), isIdempotent))
      return failedBy(error);
    await delay(REPEAT_AFTER_MS);
    // A process that stood still meanwhile does not know who has settled the write.
    if (left() < SHORTEST_CALL_MS) return failedBy(error);
    try {
      stored = await store();
    } catch (again) {
      return failedBy(again);
    }
  }
  return judge(item, stored, parts, left());
}

/** As {@link deliver} for many in one call. What fails as a whole fails for each. */
export async function deliverMany(
  items: readonly MemoryItem[],
  options: DeliveryOptions,
  parts: DeliverParts,
): Promise<readonly Delivery[]> {
  const { signal, correlationId, timeoutMs = parts.timeoutMs } = options;
  const limit = limitOf(parts);
  const fitting = items.filter(({ content }) => codePoints(content) <= limit);
  const stored = await storeAll(fitting, () => parts.backend.storeMany(fitting, { signal, correlationId, timeoutMs }));
  if ('kind' in stored) return items.map((item) => (fitting.includes(item) ? stored : tooLong(limit)));
  const rows = await parts.known(stored.answers.map(({ id }) => id));
  const deliveries = new Map<MemoryItem, Delivery>();
  for (const [index, item] of fitting.entries()) {
    const answer = stored.answers[index] ?? { id: '' };
    const known = rows.filter((row) => row.backendMemoryId === answer.id && row.memoryKey !== item.memoryKey);
    const read = (id: string) => parts.backend.get(id, { timeoutMs });
    deliveries.set(item, await judgeStored(item, answer, { known, read }));
  }
  return items.map((item) => deliveries.get(item) ?? tooLong(limit));
}

async function storeAll(
  items: readonly MemoryItem[],
  store: () => Promise<readonly StoredMemory[]>,
): Promise<FailedDelivery | { readonly answers: readonly StoredMemory[] }> {
  if (items.length === 0) return { answers: [] };
  try {
    return { answers: await store() };
  } catch (error) {
    return failedBy(error);
  }
}
