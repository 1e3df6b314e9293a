import type { AdmittedTurn, TurnAnswer, TurnEvent, TurnFace } from 'mortise/contracts/agent';
import type { CallContext, ObservationInput } from 'mortise/sdk';
import { agentError, failureOf } from './errors.js';
import type { ProcessParts } from './process-parts.js';
import { answerOf } from './settlement.js';

/** A turn of a door whose caller waits for the whole: a channel, a schedule, an agent that asks another. */
export async function submitForFace(
  parts: ProcessParts,
  { request, payload }: AdmittedTurn,
  { source, ingress, actor, idempotency, wait }: TurnFace,
  ctx: CallContext,
): Promise<TurnAnswer> {
  const { session } = request;
  const { limit, timeoutMs } = wait ?? { limit: parts.queueLimit, timeoutMs: parts.queueWaitMs };
  const observation: ObservationInput = {
    source_name: source,
    source_kind: ingress === 'channel' ? 'external' : 'internal',
    ingress,
    session_key: parts.sessions.key(session),
    actor,
    payload,
    trace_id: ctx.trace.traceId,
    correlation_id: ctx.correlationId,
  };
  try {
    const stored = idempotency && (await parts.sessions.findReplay(session, idempotency));
    if (stored) {
      const { turnId, reply, events } = stored;
      const result = { kind: 'replayed', turnId, reply: reply ?? '', events: events as readonly TurnEvent[] } as const;
      return { kind: 'turn', result };
    }
    const waitUntil = parts.now() + timeoutMs;
    const settled = await parts.conversation.submit(observation, {
      signal: ctx.signal,
      principal: ctx.principal,
      requestId: ctx.requestId,
      correlationId: ctx.correlationId,
      trace: ctx.trace,
      wait: { limit, timeoutMs },
      request: { ...request, idempotency, waitUntil },
    });
    return answerOf(settled, limit);
  } catch (error) {
    const internal = { code: 'internal_error', status: 500, message: agentError('internal_error').message };
    return { kind: 'failed', error: failureOf(error) ?? internal };
  }
}
