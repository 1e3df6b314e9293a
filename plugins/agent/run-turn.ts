import {
  extendContext,
  type HandlerContext,
  type NewMessage,
  type OpenTurn,
  type Points,
  type PromptLayer,
  type SessionsService,
  type TurnEvent,
  type TurnRequest,
  type TurnResult,
} from 'mortise/sdk';
import type { ActiveContributions } from './active-contributions.js';
import { type LoopEnd, runLoop, type TurnProgress } from './agent-loop.js';
import { type PromptMode, promptModes } from './business-params.js';
import { dispatchReply } from './dispatch-reply.js';
import { agentError, failureOf } from './errors.js';
import { EventLog } from './event-log.js';
import { attachments, userText } from './input-messages.js';
import type { TurnMetrics } from './metrics.js';
import { type ResolvedModel, resolveModel } from './resolve-model.js';
import type { ToolRunner } from './run-tool.js';
import { buildLayers } from './system-layers.js';
import { endOf, turnSignal } from './turn-signal.js';

export interface TurnParts {
  readonly points: Points;
  readonly sessions: SessionsService;
  readonly providers: ActiveContributions<'provider'>;
  readonly prompts: ActiveContributions<'prompt-source'>;
  readonly channels: ActiveContributions<'channel'>;
  readonly tools: ToolRunner;
  readonly metrics: TurnMetrics;
  readonly maxSteps: number;
  /** Milliseconds; 0 = no limit. */
  readonly turnTimeoutMs: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * One agent turn: claims the session, talks with the model, stores what came of it and releases. Runs in the session's
 * worker. What ends a turn in a known way is its result; only the unexpected is thrown, after the turn was closed.
 */
export async function runTurn(parts: TurnParts, request: TurnRequest, ctx: HandlerContext): Promise<TurnResult> {
  const waitMs = request.waitUntil - parts.now();
  let opened: Awaited<ReturnType<SessionsService['openTurn']>>;
  try {
    const { session, input, idempotency, promptMode, chatMeta } = request;
    opened = await parts.sessions.openTurn(
      {
        session,
        input,
        idempotency,
        promptMode,
        chatMeta,
        correlationId: ctx.correlationId,
        traceId: ctx.trace.traceId,
      },
      { waitMs, signal: ctx.signal },
    );
  } catch (error) {
    return failedBefore(ctx.signal.aborted ? endOf(ctx.signal.reason).error : error);
  }
  if (opened.kind === 'busy') {
    return failedBefore(
      agentError(request.waitUntil === 0 ? 'session_busy' : 'turn_queue_timeout', { retryAfterSeconds: 1 }),
    );
  }
  if (opened.kind === 'replay') {
    const { turnId, reply, events } = opened.turn;
    return { kind: 'replayed', turnId, reply: reply ?? '', events: events as readonly TurnEvent[] };
  }
  return runOpened(parts, request, opened.turn, ctx);
}

async function runOpened(
  parts: TurnParts,
  request: TurnRequest,
  turn: OpenTurn,
  handler: HandlerContext,
): Promise<TurnResult> {
  const startedAt = performance.now();
  const { signal, dispose } = turnSignal([handler.signal, turn.signal], parts.turnTimeoutMs);
  const ctx = extendContext(handler, { signal });
  const log = new EventLog();
  const progress: TurnProgress = { step: 0, unsaved: '', usage: undefined, sent: [] };
  let model: ResolvedModel | undefined;
  let firstDelta = true;
  const emit = async (event: TurnEvent): Promise<void> => {
    if (firstDelta && event.type === 'assistant_delta') {
      firstDelta = false;
      parts.metrics.firstToken((performance.now() - startedAt) / 1_000);
    }
    log.add(event);
    await handler.port?.send(event);
  };
  try {
    await handler.port?.send({ type: 'opened', turnId: turn.turnId, chatId: turn.chat.id });
    model = resolveModel(parts.providers);
    if (!model.capabilities.attachments && attachments(request.input).length > 0) {
      throw agentError('provider_not_supported');
    }
    const promptMode = effectiveMode(request.promptMode, turn.chat.meta);
    const layers = await buildLayers(
      parts.points,
      parts.prompts,
      { promptMode, sessionId: turn.chat.session.sessionId, userText: userText(request.input), modelSlug: model.model },
      ctx,
    );
    const maxSteps = Math.min(request.maxSteps ?? parts.maxSteps, parts.maxSteps);
    const { points, sessions, tools } = parts;
    const end = await runLoop({ points, sessions, tools, turn, model, layers, maxSteps, ctx, emit }, progress);
    if (end.kind === 'step_limit') return await closeAtLimit(parts, turn, model, progress, end, log, maxSteps);
    return await closeCompleted(parts, request, turn, { model, progress, end, log, layers, promptMode }, handler);
  } catch (error) {
    return await closeFailed(parts, turn, model, progress, log, signal, error);
  } finally {
    dispose();
  }
}

function effectiveMode(asked: string | undefined, meta: Readonly<Record<string, unknown>>): PromptMode {
  const wanted = asked ?? meta.prompt_mode;
  return promptModes.find((mode) => mode === wanted) ?? 'default';
}

interface Finished {
  readonly model: ResolvedModel;
  readonly progress: TurnProgress;
  readonly end: LoopEnd;
  readonly log: EventLog;
  readonly layers: readonly PromptLayer[];
  readonly promptMode: PromptMode;
}

async function closeCompleted(
  parts: TurnParts,
  request: TurnRequest,
  turn: OpenTurn,
  { model, progress, end, log, layers, promptMode }: Finished,
  ctx: HandlerContext,
): Promise<TurnResult> {
  const { usage } = progress;
  const reply = end.answer.content;
  const completed: TurnEvent = {
    type: 'completed',
    step: progress.step,
    reply,
    meta: {
      turn_id: turn.turnId,
      ...(end.responseId === undefined ? {} : { provider_response_id: end.responseId }),
      ...(usage ? { usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens } } : {}),
      model: { provider_id: model.providerId, model: model.model },
      ...(request.debug ? { model_request: modelRequest(model, promptMode, layers, progress) } : {}),
    },
  };
  log.add(completed);
  await turn.close({
    status: 'completed',
    messages: [end.answer],
    providerId: model.providerId,
    model: model.model,
    steps: progress.step,
    usage,
    events: log.events,
  });
  parts.metrics.turn('completed', model.providerId);
  await ctx.port?.send(completed);
  publishReply(turn, reply, ctx, request.dispatch !== undefined);
  if (!request.dispatch) return { kind: 'completed', turnId: turn.turnId, reply, usage };
  const { session } = turn.chat;
  const dispatch = { session, text: reply, deliveryId: turn.turnId, config: request.dispatch.config };
  try {
    await dispatchReply(parts.points, parts.channels, dispatch, ctx);
    return { kind: 'completed', turnId: turn.turnId, reply, usage };
  } catch (error) {
    return { kind: 'completed', turnId: turn.turnId, reply, usage, dispatchError: failureOf(error) };
  }
}

function modelRequest(
  model: ResolvedModel,
  promptMode: PromptMode,
  layers: readonly PromptLayer[],
  progress: TurnProgress,
): Readonly<Record<string, unknown>> {
  return {
    prompt_mode: promptMode,
    provider_id: model.providerId,
    model: model.model,
    system_layers: layers.map(({ name, role, source, content }) => ({ name, role, source, content })),
    input: progress.sent.slice(layers.length),
  };
}

/** The finished reply is an event of its own, which egress and watchers of the session see. It starts no turn. */
function publishReply(turn: OpenTurn, reply: string, ctx: HandlerContext, dispatched: boolean): void {
  ctx.publish({
    source_name: 'agent:speaker',
    source_kind: 'internal',
    ingress: 'internal',
    actor: { actor_type: 'system', actor_id: 'agent' },
    payload: { text: reply },
    metadata: {
      direction: 'outbound',
      turn_id: turn.turnId,
      ...(ctx.port || dispatched ? { answered_by: turn.chat.session.channel } : {}),
    },
  });
}

async function closeAtLimit(
  parts: TurnParts,
  turn: OpenTurn,
  model: ResolvedModel,
  progress: TurnProgress,
  end: LoopEnd,
  log: EventLog,
  maxSteps: number,
): Promise<TurnResult> {
  const error = agentError('agent_step_limit', {
    message: `agent step limit reached (${maxSteps})`,
    details: { max_steps: maxSteps },
  });
  await turn.close({
    status: 'step_limit',
    messages: [end.answer],
    providerId: model.providerId,
    model: model.model,
    steps: progress.step,
    usage: progress.usage,
    error: { code: error.code, message: error.message },
    events: log.events,
  });
  parts.metrics.turn('step_limit', model.providerId);
  return { kind: 'failed', turnId: turn.turnId, error: known(error) };
}

/** What was shown is stored, with the status that says why it ends there; a fenced turn stores nothing. */
async function closeFailed(
  parts: TurnParts,
  turn: OpenTurn,
  model: ResolvedModel | undefined,
  progress: TurnProgress,
  log: EventLog,
  signal: AbortSignal,
  error: unknown,
): Promise<TurnResult> {
  const fenced = failureOf(error)?.code === 'session_fenced';
  const end =
    signal.aborted && !fenced ? endOf(signal.reason) : ({ status: fenced ? 'fenced' : 'failed', error } as const);
  const failure = failureOf(end.error);
  const shown = failure ?? known(agentError('internal_error'));
  const partial: NewMessage[] =
    progress.unsaved === ''
      ? []
      : [
          {
            role: 'assistant',
            content: progress.unsaved,
            status: partialStatus(end.status),
            meta: { step: progress.step },
          },
        ];
  try {
    await turn.close({
      status: end.status,
      messages: partial,
      ...(model ? { providerId: model.providerId, model: model.model } : {}),
      steps: progress.step,
      usage: progress.usage,
      error: { code: shown.code, message: shown.message },
      events: log.events,
    });
  } catch (closing) {
    // The store is gone as well, or the session: the sweeper ends the turn. What the caller hears is why it failed.
    if (failureOf(closing) === undefined) throw closing;
  }
  parts.metrics.turn(end.status, model?.providerId ?? 'none');
  if (failure === undefined) throw error;
  return { kind: 'failed', turnId: turn.turnId, error: failure };
}

function partialStatus(status: string): NonNullable<NewMessage['status']> {
  return status === 'cancelled' ? 'cancelled' : status === 'interrupted' ? 'interrupted' : 'error';
}

function failedBefore(error: unknown): TurnResult {
  const failure = failureOf(error);
  if (!failure) throw error;
  return { kind: 'failed', error: failure };
}

function known(error: ReturnType<typeof agentError>) {
  const { code, message, status, details } = error;
  return { code, message, status, ...(details ? { details } : {}) };
}
