import type { AdmittedTurn, TurnAnswer, TurnEvent } from 'mortise/contracts/agent';
import type { ObservationInput, RouteContext, RouteResponse } from 'mortise/sdk';
import { agentError, errorOf } from './errors.js';
import { cutDeltas } from './event-log.js';
import type { ProcessParts } from './process-parts.js';
import { answerOf } from './settlement.js';
import { errorFrame, eventFrame, streamEnd } from './sse.js';
import { withoutTurn } from './stored-answer.js';
import { TurnPipe } from './turn-pipe.js';

/** Hands a request to the conversation and shows what comes of it, all at once or as it happens. */
export async function submitTurn(
  parts: ProcessParts,
  stream: boolean,
  { request, payload }: Pick<AdmittedTurn, 'request' | 'payload'>,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const pipe = new TurnPipe((turnId) => ctx.setHeader('X-Turn-Id', turnId));
  const { session } = request;
  const observation: ObservationInput = {
    source_name: 'api:agent-process',
    ingress: 'api',
    session_key: parts.sessions.key(session),
    actor: { actor_type: 'user', actor_id: session.userId },
    payload,
    trace_id: ctx.trace.traceId,
    correlation_id: ctx.correlationId,
  };
  const submitted = parts.conversation
    .submit(observation, {
      signal: ctx.signal,
      principal: ctx.principal,
      requestId: ctx.requestId,
      correlationId: ctx.correlationId,
      trace: ctx.trace,
      port: pipe.port,
      wait: { limit: parts.queueLimit, timeoutMs: parts.queueWaitMs },
      // Comes before any event, so that the header is in time.
      decided: ({ action }) => ctx.setHeader('X-Gate-Action', action),
      request,
    })
    .finally(() => pipe.close());
  const answered = submitted.then((settled) => answerOf(settled, parts.queueLimit));
  return stream ? streamed(pipe, answered, ctx) : collected(pipe, answered, ctx);
}

async function collected(pipe: TurnPipe, answered: Promise<TurnAnswer>, ctx: RouteContext): Promise<RouteResponse> {
  const events: TurnEvent[] = [];
  for (let event = await pipe.next(); event; event = await pipe.next()) events.push(event);
  const answer = await answered;
  const early = withoutTurn(answer, false, ctx);
  if (early) return early;
  if (answer.kind !== 'turn' || answer.result.kind !== 'completed') throw agentError('internal_error');
  if (answer.result.dispatchError) throw errorOf(answer.result.dispatchError);
  return { body: { reply: answer.result.reply, events: cutDeltas(events) } };
}

async function streamed(pipe: TurnPipe, answered: Promise<TurnAnswer>, ctx: RouteContext): Promise<RouteResponse> {
  const first = await pipe.next();
  if (!first) {
    const early = withoutTurn(await answered, true, ctx);
    if (early) return early;
  }
  return { stream: frames(pipe, first, answered), sse: true };
}

async function* frames(
  pipe: TurnPipe,
  first: TurnEvent | undefined,
  answered: Promise<TurnAnswer>,
): AsyncGenerator<string> {
  try {
    for (let event = first; event; event = await pipe.next()) yield eventFrame(event);
    const answer = await answered;
    if (answer.kind === 'failed') yield errorFrame(answer.error);
    else if (answer.kind === 'turn' && answer.result.kind === 'failed') yield errorFrame(answer.result.error);
    else if (answer.kind === 'turn' && answer.result.kind === 'completed' && answer.result.dispatchError) {
      yield errorFrame(answer.result.dispatchError);
    }
    yield streamEnd;
  } finally {
    pipe.leave();
  }
}
