import {
  commandEvents,
  cutDeltas,
  errorFrame,
  errorOf,
  eventFrame,
  restoreDeltas,
  streamEnd,
  type TurnAnswer,
  type TurnEvent,
  TurnPipe,
  type TurnResult,
  type TurnService,
  turnFrames,
} from 'mortise/contracts/agent';
import type { SessionRef } from 'mortise/contracts/sessions';
import { boundUser, type Route, type RouteContext, type RouteResponse } from 'mortise/sdk';
import { agentError, failureOf } from './errors.js';
import { readIdempotency, readProcessRequest } from './process-request.js';
import { dispatchReply, usableChannel } from './send-reply.js';
import type { TurnDeps } from './turn-deps.js';

/** `POST /agent/process`. A request that can be refused is refused before anything is written. */
export function processRoute(
  deps: Pick<TurnDeps, 'points' | 'channels' | 'channelConfigs'>,
  turns: TurnService,
): Route {
  return {
    async handle({ body, headers }, ctx) {
      const request = readProcessRequest(body);
      const { session, input, stream } = request;
      const user = boundUser(ctx.principal);
      if (user !== undefined && user !== session.userId) throw agentError('actor_mismatch');
      usableChannel(deps, session.channel);
      ctx.setHeader('X-Trace-Id', ctx.trace.traceId);
      if (turns.isCommand(input)) return commandAnswer(deps, session, await turns.runCommand(session), stream, ctx);
      const admitted = await turns.admit(request, ctx);
      const pipe = new TurnPipe((turnId) => ctx.setHeader('X-Turn-Id', turnId));
      const answer = turns
        .submit(
          admitted,
          {
            source: 'api:agent-process',
            ingress: 'api',
            idempotency: readIdempotency(headers['idempotency-key'], admitted.requestId, body),
            port: pipe.port,
            decided: ({ action }) => ctx.setHeader('X-Gate-Action', action),
          },
          ctx,
        )
        .finally(() => pipe.close());
      return stream ? streamed(pipe, answer, ctx) : collected(pipe, answer, ctx);
    },
  };
}

async function collected(pipe: TurnPipe, pending: Promise<TurnAnswer>, ctx: RouteContext): Promise<RouteResponse> {
  const events: TurnEvent[] = [];
  for (let event = await pipe.next(); event; event = await pipe.next()) events.push(event);
  const answer = await pending;
  const early = answerWithoutEvents(answer, false, ctx);
  if (early) return early;
  if (answer.kind !== 'turn' || answer.result.kind !== 'completed') throw agentError('internal_error');
  if (answer.result.dispatchError) throw errorOf(answer.result.dispatchError);
  return { body: { reply: answer.result.reply, events: cutDeltas(events) } };
}

async function streamed(pipe: TurnPipe, pending: Promise<TurnAnswer>, ctx: RouteContext): Promise<RouteResponse> {
  const first = await pipe.next();
  if (!first) {
    const early = answerWithoutEvents(await pending, true, ctx);
    if (early) return early;
  }
  return { stream: turnFrames(pipe, first, pending), sse: true };
}

/** The response to an answer without a running turn; undefined if there is one. @throws the error of a failed answer */
function answerWithoutEvents(answer: TurnAnswer, stream: boolean, ctx: RouteContext): RouteResponse | undefined {
  if (answer.kind === 'failed') throw errorOf(answer.error);
  if (answer.kind === 'sunk') {
    const gate = answer.error.details ?? {};
    if (!stream) return { status: 202, body: { accepted: true, reply: '', events: [], gate } };
    return streamOf([{ type: 'completed', step: 0, reply: '', meta: { gate } }]);
  }
  const { result } = answer;
  if (result.kind === 'failed') throw errorOf(result.error);
  return result.kind === 'replayed' ? replay(result, stream, ctx) : undefined;
}

/** The stored answer of an earlier turn with the same key. */
function replay(
  { turnId, reply, events: stored }: Extract<TurnResult, { kind: 'replayed' }>,
  stream: boolean,
  ctx: RouteContext,
): RouteResponse {
  ctx.setHeader('X-Idempotent-Replay', 'true');
  ctx.setHeader('X-Turn-Id', turnId);
  const events = restoreDeltas(stored, reply);
  return stream ? streamOf(events) : { body: { reply, events: cutDeltas(events) } };
}

/** The response to a command: the events of a turn, although no model was asked and no turn was recorded. */
async function commandAnswer(
  deps: Pick<TurnDeps, 'points' | 'channels' | 'channelConfigs'>,
  session: SessionRef,
  reply: string,
  stream: boolean,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const events = commandEvents(reply);
  const dispatch = { session, text: reply, deliveryId: ctx.requestId };
  if (stream) return streamOf(events, () => dispatchReply(deps, dispatch, ctx));
  await dispatchReply(deps, dispatch, ctx);
  return { body: { reply, events } };
}

/** Events that are already known; an error of `afterwards` follows them in the stream. */
function streamOf(events: readonly TurnEvent[], afterwards?: () => Promise<void>): RouteResponse {
  const frames = async function* () {
    for (const event of events) yield eventFrame(event);
    try {
      await afterwards?.();
    } catch (error) {
      const failure = failureOf(error);
      if (failure) yield errorFrame(failure);
    }
    yield streamEnd;
  };
  return { stream: frames(), sse: true };
}
