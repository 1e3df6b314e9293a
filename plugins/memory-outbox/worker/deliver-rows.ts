import type { Delivery, MemoryItem, OutboxRow } from 'mortise/sdk';
import type { Attempt } from '../flush/flush-audit.js';
import type { OutboxParts } from '../parts.js';

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
    return memory.failure(error);
  }
}

/**
 * Sends what is not there yet; one answer for each attempt. A group that fails as one is sent row by row, unless the
 * backend is not there for any of them.
 */
export async function deliverRows(
  attempts: readonly Attempt[],
  signal: AbortSignal,
  parts: OutboxParts,
): Promise<ReadonlyMap<Attempt, Delivery>> {
  const { memory, config } = parts;
  const call = { signal, timeoutMs: config.timeout_seconds * 1_000 };
  const deliveries = new Map<Attempt, Delivery>();
  for (const attempt of attempts) {
    const found = attempt.row.verifyFirst ? await lookUp(attempt, call, parts) : undefined;
    if (found !== undefined) deliveries.set(attempt, found);
  }
  const unsent = attempts.filter((attempt) => !deliveries.has(attempt));
  if (unsent.length > 1) {
    const answers = await memory.deliverMany(
      unsent.map(({ row }) => itemOf(row)),
      call,
    );
    const isTogether = answers.every((answer) => answer.kind === 'failed' && answer.class !== 'unavailable');
    if (!isTogether) {
      for (const [index, attempt] of unsent.entries()) {
        const answer = answers[index];
        if (answer !== undefined) deliveries.set(attempt, answer);
      }
      return deliveries;
    }
  }
  for (const attempt of unsent) {
    deliveries.set(
      attempt,
      await memory.deliver(itemOf(attempt.row), { ...call, correlationId: attempt.row.correlationId ?? undefined }),
    );
  }
  return deliveries;
}
