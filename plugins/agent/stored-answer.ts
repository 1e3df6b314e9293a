import type { TurnAnswer, TurnEvent } from 'mortise/contracts/agent';
import type { RouteContext, RouteResponse } from 'mortise/sdk';
import { errorOf } from './errors.js';
import { cutDeltas, restoreDeltas } from './event-log.js';
import { eventFrame, streamEnd } from './sse.js';

/** Answers that show no events of a running turn; a failure is thrown. */
export function withoutTurn(answer: TurnAnswer, stream: boolean, ctx: RouteContext): RouteResponse | undefined {
  if (answer.kind === 'sunk') return sunk(answer.error.details ?? {}, stream);
  if (answer.kind === 'failed') throw errorOf(answer.error);
  const { result } = answer;
  if (result.kind === 'replayed') return replay(result, stream, ctx);
  if (result.kind === 'failed') throw errorOf(result.error);
  return undefined;
}

/** Put aside by the gate: neither an error nor an answer. */
function sunk(gate: Readonly<Record<string, unknown>>, stream: boolean): RouteResponse {
  if (!stream) return { status: 202, body: { accepted: true, reply: '', events: [], gate } };
  return streamOf([{ type: 'completed', step: 0, reply: '', meta: { gate } }]);
}

/** The answer of an earlier turn with the same key: nothing is asked and nothing is written. */
export function replay(
  stored: { readonly turnId: string; readonly reply: string; readonly events: readonly TurnEvent[] },
  stream: boolean,
  ctx: RouteContext,
): RouteResponse {
  ctx.setHeader('X-Idempotent-Replay', 'true');
  ctx.setHeader('X-Turn-Id', stored.turnId);
  const events = restoreDeltas(stored.events, stored.reply);
  return stream ? streamOf(events) : { body: { reply: stored.reply, events: cutDeltas(events) } };
}

function streamOf(events: readonly TurnEvent[]): RouteResponse {
  const frames = async function* () {
    for (const event of events) yield eventFrame(event);
    yield streamEnd;
  };
  return { stream: frames(), sse: true };
}
