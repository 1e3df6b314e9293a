import type {
  ConversationService,
  Observation,
  ObservationInput,
  Route,
  RouteContext,
  RouteResponse,
  Settled,
  TurnEvent,
  TurnRequest,
} from 'mortise/sdk';
import { type BusinessParams, readBusinessParams } from './business-params.js';
import { dispatchReply, usableChannel } from './dispatch-reply.js';
import { agentError, errorOf, failureOf } from './errors.js';
import { cutDeltas, restoreDeltas } from './event-log.js';
import { readIdempotency } from './idempotency.js';
import { attachments, isNewCommand, userText } from './input-messages.js';
import { newChatEvents, newChatReply } from './new-chat.js';
import { type ProcessRequest, readProcessRequest } from './process-request.js';
import { resolveModel } from './resolve-model.js';
import type { TurnParts } from './run-turn.js';
import { type Answer, answerOf } from './settlement.js';
import { errorFrame, eventFrame, streamEnd } from './sse.js';
import { buildLayers } from './system-layers.js';
import { TurnPipe } from './turn-pipe.js';

export interface ProcessParts extends TurnParts {
  readonly conversation: ConversationService;
  readonly queueLimit: number;
  readonly queueWaitMs: number;
}

/** `POST /agent/process`: the HTTP door to a turn. All that can be refused is refused before anything is written. */
export function processRoute(parts: ProcessParts): Route {
  return {
    async handle({ body, headers }, ctx) {
      const request = readProcessRequest(body);
      const { session, input, stream } = request;
      if (ctx.principal.actor !== undefined && ctx.principal.actor !== session.userId) {
        throw agentError('actor_mismatch');
      }
      usableChannel(parts.channels, session.channel);
      ctx.setHeader('X-Trace-Id', ctx.trace.traceId);
      if (isNewCommand(input)) return startNewChat(parts, request, ctx);
      const params = readBusinessParams(request.business);
      await checkEarly(parts, request, params, ctx);
      const idempotency = readIdempotency(headers['idempotency-key'], params.requestId, body);
      const stored = idempotency && (await parts.sessions.findReplay(session, idempotency));
      if (stored) {
        const events = stored.events as readonly TurnEvent[];
        return replay({ turnId: stored.turnId, reply: stored.reply ?? '', events }, stream, ctx);
      }
      return submitTurn(parts, request, turnRequest(parts, request, params, idempotency), ctx);
    },
  };
}

/** What a turn will resolve again once it has its session: asked now, so that a hopeless request writes nothing. */
async function checkEarly(
  parts: ProcessParts,
  { session, input }: ProcessRequest,
  params: BusinessParams,
  ctx: RouteContext,
): Promise<void> {
  const chat = await parts.sessions.currentChat(session);
  const stored = chat?.meta.prompt_mode;
  const promptMode = params.promptMode ?? (stored === 'codex' || stored === 'claude' ? stored : 'default');
  if (params.collaboration && promptMode !== 'codex') {
    const message = 'collaboration mode is only supported when prompt_mode=codex';
    throw agentError('invalid_request', { message });
  }
  if (parts.prompts.list().length > 0 || promptMode !== 'default') {
    await buildLayers(parts.points, parts.prompts, { promptMode, userText: userText(input) }, ctx);
  }
  const model = resolveModel(parts.providers);
  if (!model.capabilities.attachments && attachments(input).length > 0) throw agentError('provider_not_supported');
}

function turnRequest(
  parts: ProcessParts,
  { session, input }: ProcessRequest,
  params: BusinessParams,
  idempotency: TurnRequest['idempotency'],
): TurnRequest {
  return {
    session,
    input,
    idempotency,
    promptMode: params.promptMode,
    chatMeta: params.chatMeta,
    maxSteps: params.maxSteps,
    debug: params.debug,
    dispatch: params.channelConfig ? { config: params.channelConfig } : {},
    waitUntil: parts.now() + parts.queueWaitMs,
  };
}

async function submitTurn(
  parts: ProcessParts,
  { session, input, stream }: ProcessRequest,
  request: TurnRequest,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const pipe = new TurnPipe((turnId) => {
    ctx.setHeader('X-Turn-Id', turnId);
    ctx.setHeader('X-Gate-Action', 'deliver');
  });
  const observation: ObservationInput = {
    source_name: 'api:agent-process',
    ingress: 'api',
    session_key: parts.sessions.key(session),
    actor: { actor_type: 'user', actor_id: session.userId },
    payload: { text: userText(input), attachments: attachments(input).slice(0, 32).map(asAttachment) },
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
      request,
    })
    .finally(() => pipe.close());
  const answered = submitted.then((settled: Settled) => {
    // A refusal comes before any event, so that its header is in time.
    if (settled.outcome === 'refused' && settled.decision) ctx.setHeader('X-Gate-Action', settled.decision.action);
    return answerOf(settled, parts.queueLimit);
  });
  return stream ? streamed(pipe, answered, ctx) : collected(pipe, answered, ctx);
}

async function collected(pipe: TurnPipe, answered: Promise<Answer>, ctx: RouteContext): Promise<RouteResponse> {
  const events: TurnEvent[] = [];
  for (let event = await pipe.next(); event; event = await pipe.next()) events.push(event);
  const answer = await answered;
  const early = withoutTurn(answer, false, ctx);
  if (early) return early;
  if (answer.kind !== 'turn' || answer.result.kind !== 'completed') throw agentError('internal_error');
  if (answer.result.dispatchError) throw errorOf(answer.result.dispatchError);
  return { body: { reply: answer.result.reply, events: cutDeltas(events) } };
}

async function streamed(pipe: TurnPipe, answered: Promise<Answer>, ctx: RouteContext): Promise<RouteResponse> {
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
  answered: Promise<Answer>,
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

/** Answers that show no events of a running turn; a failure is thrown. */
function withoutTurn(answer: Answer, stream: boolean, ctx: RouteContext): RouteResponse | undefined {
  if (answer.kind === 'sunk') return sunk(answer.gate, stream);
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

function replay(
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

/** A command of this door: it concerns the running turn, so it is acted on at once and never queued behind it. */
async function startNewChat(
  parts: ProcessParts,
  { session, stream }: ProcessRequest,
  ctx: RouteContext,
): Promise<RouteResponse> {
  await parts.sessions.startAnew(session);
  const dispatch = { session, text: newChatReply, deliveryId: ctx.requestId };
  if (!stream) {
    await dispatchReply(parts.points, parts.channels, dispatch, ctx);
    return { body: { reply: newChatReply, events: newChatEvents } };
  }
  const frames = async function* () {
    for (const event of newChatEvents) yield eventFrame(event);
    try {
      await dispatchReply(parts.points, parts.channels, dispatch, ctx);
    } catch (error) {
      const failure = failureOf(error);
      if (failure) yield errorFrame(failure);
    }
    yield streamEnd;
  };
  return { stream: frames(), sse: true };
}

function asAttachment({ type, ...rest }: { readonly type: string }, index: number): Observation['payload'] {
  return {
    id: `att-${index}`,
    kind: ['image', 'file', 'audio', 'video'].includes(type) ? type : 'unknown',
    extra: rest,
  };
}
