import type { OutboxRow } from 'mortise/contracts/logbook';
import type { Delivery } from 'mortise/contracts/memory-gateway';
import type { MemoryItem } from 'mortise/sdk';
import type { OutboxDeps } from '../outbox-deps.js';
import type { Attempt } from './attempt.js';
import type { RowLeases } from './row-leases.js';

/** The memory as the original request would have sent it. */
export function itemOf(row: OutboxRow): MemoryItem {
  return {
    memoryKey: row.memoryKey ?? `outbox-${row.outboxId}`,
    content: row.payload,
    space: row.space,
    kind: row.kind,
    meta: row.meta,
    evidence: row.evidence,
    actorUserId: row.actorUserId,
    payloadSha: row.payloadSha,
    correlationId: row.correlationId ?? '',
  };
}

interface Call {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Looks a memory up that may already be stored. Undefined: not found, or the backend cannot search. */
async function lookUp({ row }: Attempt, call: Call, { memory }: OutboxDeps): Promise<Delivery | undefined> {
  const { memoryKey, space, payloadSha, content } = itemOf(row);
  try {
    const found = await memory.find({ memoryKey, space, payloadSha, content }, call);
    return found === null || found === undefined ? undefined : { kind: 'stored', id: found.id, dedup: true };
  } catch (error) {
    const failed = memory.failure(error);
    // The lookup was refused, not the memory.
    return failed.class === 'permanent' ? { ...failed, class: 'failure' } : failed;
  }
}

/** Sends rows in one call. If all fail although the backend is available, no answers are returned. */
async function sendGroup(
  attempts: readonly Attempt[],
  call: Call,
  { memory }: OutboxDeps,
): Promise<{ readonly answers: ReadonlyMap<Attempt, Delivery>; readonly isUncertain: boolean }> {
  const items = attempts.map(({ row }) => itemOf(row));
  const deliveries = await memory.deliverMany(items, call);
  const failures = deliveries.filter((delivery) => delivery.kind === 'failed');
  if (failures.length === attempts.length && failures.every((failed) => failed.class !== 'unavailable')) {
    return { answers: new Map(), isUncertain: failures.some(({ applied }) => applied === 'unknown') };
  }
  const answers = new Map(
    attempts.flatMap((attempt, index) => {
      const delivery = deliveries[index];
      return delivery === undefined ? [] : [[attempt, delivery] as const];
    }),
  );
  return { answers, isUncertain: false };
}

/**
 * Delivers rows that are not stored yet: one result per attempt whose lease was held when its call began, none for the
 * others. A group that fails as a whole is sent row by row.
 */
export async function deliverRows(
  attempts: readonly Attempt[],
  leases: RowLeases,
  deps: OutboxDeps,
): Promise<ReadonlyMap<Attempt, Delivery>> {
  const timeoutMs = deps.config.timeout_seconds * 1_000;
  const deliveries = new Map<Attempt, Delivery>();
  const unsent = () => attempts.filter((attempt) => !deliveries.has(attempt));
  const lookUpAll = async (uncertain: readonly Attempt[]): Promise<void> => {
    for (const attempt of uncertain) {
      const found = await leases.whileHeld([attempt], (_, signal) => lookUp(attempt, { signal, timeoutMs }, deps));
      if (found !== undefined) deliveries.set(attempt, found);
    }
  };

  await lookUpAll(attempts.filter(({ row }) => row.verifyFirst));
  if (unsent().length > 1) {
    const group = await leases.whileHeld(unsent(), (held, signal) => sendGroup(held, { signal, timeoutMs }, deps));
    for (const [attempt, delivery] of group?.answers ?? []) deliveries.set(attempt, delivery);
    // Part of the group may be stored although the call failed.
    if (group?.isUncertain === true) await lookUpAll(unsent());
  }
  for (const attempt of unsent()) {
    const { row } = attempt;
    const correlationId = row.correlationId ?? undefined;
    const delivery = await leases.whileHeld([attempt], (_, signal) =>
      deps.memory.deliver(itemOf(row), { signal, timeoutMs, correlationId }),
    );
    if (delivery !== undefined) deliveries.set(attempt, delivery);
  }
  return deliveries;
}
