import { setTimeout as delay } from 'node:timers/promises';
import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { Delivery, DeliveryOptions, FailedDelivery, MemoryService } from 'mortise/contracts/memory-gateway';
import { type BackendMemory, isUnstorableText, type MemoryItem, type StoredMemory } from 'mortise/sdk';
import { codePoints } from '../store/hashes.js';
import { type BackendFailure, isCircuitOpen, readFailure } from './read-failure.js';

export interface DeliverDeps {
  readonly backend: Pick<MemoryService, 'backend' | 'facts' | 'store' | 'storeMany' | 'get'>;
  /** Ledger rows by the backend's ids. */
  ledgerRows(ids: readonly string[]): Promise<readonly LedgerMemory[]>;
  readonly timeoutMs: number;
}

const RETRY_AFTER_MS = 100;
/** The minimum time left for a second call. */
const MIN_CALL_MS = 250;
const retryableStatuses: readonly number[] = [502, 503, 504];

const failure = { kind: 'failed', retryAfterMs: null, mergedInto: null } as const;

/** The failed delivery that an error of the backend amounts to. */
export function failedDelivery(error: unknown): FailedDelivery {
  const { class: failureClass, detail, message, applied, retryAfterMs } = readFailure(error);
  return {
    kind: 'failed',
    class: failureClass,
    detail: isCircuitOpen(error) ? 'circuit_open' : detail,
    message,
    applied,
    retryAfterMs,
    mergedInto: null,
  };
}

function tooLong(limit: number): FailedDelivery {
  const message = `the memory backend accepts at most ${limit} characters`;
  return { ...failure, class: 'permanent', detail: 'content_too_long', message, applied: 'no' };
}

function invalidResponse(message: string): FailedDelivery {
  return { ...failure, class: 'failure', detail: 'invalid_response', message, applied: 'unknown' };
}

function merged(id: string): FailedDelivery {
  const message = `the memory backend merged it into memory ${id}`;
  return { ...failure, class: 'permanent', detail: 'merged', message, applied: 'no', mergedInto: id };
}

/**
 * Verifies that the backend has the memory. If its answer reports a duplicate, or its id belongs to another text in the
 * ledger, the memory is read back; a memory that was merged into other content is not stored.
 */
async function verifyStored(
  item: MemoryItem,
  { id, deduplicated }: StoredMemory,
  ledgerRows: readonly LedgerMemory[],
  backend: DeliverDeps['backend'],
  timeoutMs: number,
): Promise<Delivery> {
  if (id === '' || isUnstorableText(id)) return invalidResponse('the memory backend returned no id');
  const others = ledgerRows.filter(
    ({ backendMemoryId, memoryKey }) => backendMemoryId === id && memoryKey !== item.memoryKey,
  );
  const isForeign = others.some(({ payloadSha }) => payloadSha !== item.payloadSha);
  if (deduplicated !== true && !isForeign) return { kind: 'stored', id, dedup: false };
  let memory: BackendMemory | null | undefined;
  try {
    memory = await backend.get(id, { timeoutMs });
  } catch (error) {
    const { class: readClass, detail, message, retryAfterMs } = readFailure(error);
    // The store may have succeeded, so a failed read never makes the failure permanent.
    const failureClass = readClass === 'permanent' ? 'failure' : readClass;
    return { ...failure, class: failureClass, detail, message, retryAfterMs, applied: 'unknown' };
  }
  if (memory === null) return invalidResponse('the memory backend does not have the id it returned');
  const isSame = memory === undefined ? others.length > 0 && !isForeign : memory.content === item.content;
  return isSame ? { kind: 'stored', id, dedup: true } : merged(id);
}

/** Whether a second call could succeed at once, and cannot store the memory twice. */
function mayRetry({ status, detail, applied, retryAfterMs }: BackendFailure, isIdempotent: boolean): boolean {
  const isTransient = status === null ? detail === 'connection_error' : retryableStatuses.includes(status);
  return isTransient && retryAfterMs === null && (applied === 'no' || isIdempotent);
}

function contentLimit({ backend }: DeliverDeps): number {
  return backend.facts()?.limits?.maxContentChars ?? Number.POSITIVE_INFINITY;
}

/** Stores one memory within the time limit and reports the outcome. Throws only errors of the database. */
export async function deliver(item: MemoryItem, options: DeliveryOptions, deps: DeliverDeps): Promise<Delivery> {
  const { signal, correlationId, timeoutMs = deps.timeoutMs, retriesOnce = false } = options;
  const limit = contentLimit(deps);
  if (codePoints(item.content) > limit) return tooLong(limit);
  const deadline = performance.now() + timeoutMs;
  const remainingMs = () => Math.max(1, Math.round(deadline - performance.now()));
  const store = () => deps.backend.store(item, { signal, correlationId, timeoutMs: remainingMs() });
  let stored: StoredMemory;
  try {
    stored = await store();
  } catch (error) {
    const isIdempotent = deps.backend.facts()?.capabilities.idempotent === true;
    const isOver = remainingMs() < RETRY_AFTER_MS + MIN_CALL_MS || signal?.aborted === true;
    if (!retriesOnce || isOver || isCircuitOpen(error) || !mayRetry(readFailure(error), isIdempotent))
      return failedDelivery(error);
    await delay(RETRY_AFTER_MS);
    // If the process was suspended meanwhile, another one may have settled the write.
    if (remainingMs() < MIN_CALL_MS) return failedDelivery(error);
    try {
      stored = await store();
    } catch (retryError) {
      return failedDelivery(retryError);
    }
  }
  return verifyStored(item, stored, await deps.ledgerRows([stored.id]), deps.backend, remainingMs());
}

/** As {@link deliver}, for many memories in one call. If the call fails, every delivery fails. */
export async function deliverMany(
  items: readonly MemoryItem[],
  options: DeliveryOptions,
  deps: DeliverDeps,
): Promise<readonly Delivery[]> {
  const { backend } = deps;
  const { signal, correlationId, timeoutMs = deps.timeoutMs } = options;
  const limit = contentLimit(deps);
  const fitting = items.filter(({ content }) => codePoints(content) <= limit);
  let answers: readonly StoredMemory[] = [];
  try {
    if (fitting.length > 0) answers = await backend.storeMany(fitting, { signal, correlationId, timeoutMs });
  } catch (error) {
    const failed = failedDelivery(error);
    return items.map((item) => (fitting.includes(item) ? failed : tooLong(limit)));
  }
  const rows = await deps.ledgerRows(answers.map(({ id }) => id));
  const deliveries = new Map<MemoryItem, Delivery>();
  for (const [index, item] of fitting.entries()) {
    deliveries.set(item, await verifyStored(item, answers[index] ?? { id: '' }, rows, backend, timeoutMs));
  }
  return items.map((item) => deliveries.get(item) ?? tooLong(limit));
}
