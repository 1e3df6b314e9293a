import type { OutboxRow } from 'mortise/contracts/logbook';
import type { Delivery } from 'mortise/contracts/memory-gateway';
import type { MemoryItem } from 'mortise/sdk';
import type { Attempt } from '../flush/flush-audit.js';
import type { OutboxParts } from '../parts.js';
import type { RowLeases } from './row-leases.js';

/** The memory of a row as the request would have sent it. */
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

/** Looks for a memory that may be there already. Undefined: it is not there, or the backend cannot tell. */
async function lookUp({ row }: Attempt, call: Call, { memory }: OutboxParts): Promise<Delivery | undefined> {
  const { memoryKey, space, payloadSha, content } = itemOf(row);
  try {
    const found = await memory.find({ memoryKey, space, payloadSha, content }, call);
    return found === null || found === undefined ? undefined : { kind: 'stored', id: found.id, dedup: true };
  } catch (error) {
    const failed = memory.failure(error);
    // It is the question that was refused, not the memory.
    return failed.class === 'permanent' ? { ...failed, class: 'failure' } : failed;
  }
}

/** Sends rows in one call. A group that fails as one has no answers, unless the backend is not there for any of them. */
async function sendGroup(
  attempts: readonly Attempt[],
  call: Call,
  { memory }: OutboxParts,
): Promise<{ readonly answers: ReadonlyMap<Attempt, Delivery>; readonly isDoubtful: boolean }> {
  const items = attempts.map(({ row }) => itemOf(row));
  const deliveries = await memory.deliverMany(items, call);
  const failures = deliveries.filter((delivery) => delivery.kind === 'failed');
  if (failures.length === attempts.length && failures.every((failed) => failed.class !== 'unavailable')) {
    return { answers: new Map(), isDoubtful: failures.some(({ applied }) => applied === 'unknown') };
  }
  const answers = new Map(
    attempts.flatMap((attempt, index) => {
      const delivery = deliveries[index];
      return delivery === undefined ? [] : [[attempt, delivery] as const];
    }),
  );
  return { answers, isDoubtful: false };
}

/**
 * Sends what is not there yet; one answer for each attempt that the worker surely held when its call began, none for the
 * others. A group that fails as one is sent row by row.
 */
export async function deliverRows(
  attempts: readonly Attempt[],
  leases: RowLeases,
  parts: OutboxParts,
): Promise<ReadonlyMap<Attempt, Delivery>> {
  const timeoutMs = parts.config.timeout_seconds * 1_000;
  const deliveries = new Map<Attempt, Delivery>();
  const unsent = () => attempts.filter((attempt) => !deliveries.has(attempt));
  const look = async (doubtful: readonly Attempt[]): Promise<void> => {
    for (const attempt of doubtful) {
      const found = await leases.whileHeld([attempt], (_, signal) => lookUp(attempt, { signal, timeoutMs }, parts));
      if (found !== undefined) deliveries.set(attempt, found);
    }
  };

  await look(attempts.filter(({ row }) => row.verifyFirst));
  if (unsent().length > 1) {
    const group = await leases.whileHeld(unsent(), (held, signal) => sendGroup(held, { signal, timeoutMs }, parts));
    for (const [attempt, delivery] of group?.answers ?? []) deliveries.set(attempt, delivery);
    // Some of the group may be there although all of it failed.
    if (group?.isDoubtful === true) await look(unsent());
  }
  for (const attempt of unsent()) {
    const { row } = attempt;
    const correlationId = row.correlationId ?? undefined;
    const delivery = await leases.whileHeld([attempt], (_, signal) =>
      parts.memory.deliver(itemOf(row), { signal, timeoutMs, correlationId }),
    );
    if (delivery !== undefined) deliveries.set(attempt, delivery);
  }
  return deliveries;
}
