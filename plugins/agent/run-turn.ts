import type { TurnCall, TurnEvent, TurnRequest, TurnResult } from 'mortise/contracts/agent';
import type { HandlerContext } from 'mortise/contracts/conversation';
import type { OpenTurn, SessionsService } from 'mortise/contracts/sessions';
import { extendContext } from 'mortise/sdk';
import { runLoop } from './agent-loop.js';
import { announceReply } from './announce-reply.js';
import { type PromptMode, promptModes } from './business-params.js';
import { closeAtLimit, closeCompleted, closeFailed } from './close-turn.js';
import { checkInput } from './context-budget.js';
import { agentError, failureOf } from './errors.js';
import { EventLog } from './event-log.js';
import { attachments, userText } from './input-messages.js';
import { chooseSlot } from './model-slot.js';
import { resolveModel } from './resolve-model.js';
import { runDirectTool } from './run-direct-tool.js';
import { buildLayers } from './system-layers.js';
import { tieredModel } from './tiered-model.js';
import type { LiveTurn, TurnParts } from './turn-parts.js';
import { endOf, turnSignal } from './turn-signal.js';

/**
 * One agent turn: claims the session, talks with the model, stores what came of it and releases. Runs in the session's
 * worker. What ends a turn in a known way is its result; only the unexpected is thrown, after the turn was closed.
 */
export async function runTurn(parts: TurnParts, request: TurnRequest, ctx: HandlerContext): Promise<TurnResult> {
  let opened: Awaited<ReturnType<SessionsService['openTurn']>>;
  try {
    const { session, input, idempotency, promptMode, chatMeta } = request;
    const { correlationId, trace } = ctx;
    opened = await parts.sessions.openTurn(
      { session, input, idempotency, promptMode, chatMeta, correlationId, traceId: trace.traceId },
      { waitMs: request.waitUntil - parts.now(), signal: ctx.signal },
    );
  } catch (error) {
    return failedBefore(ctx.signal.aborted ? endOf(ctx.signal.reason).error : error);
  }
  if (opened.kind === 'busy') {
    const code = request.waitUntil === 0 ? 'session_busy' : 'turn_queue_timeout';
    return failedBefore(agentError(code, { retryAfterSeconds: 1 }));
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
  const { signal, dispose } = turnSignal([handler.signal, turn.signal], parts.turnTimeoutMs);
  const progress = { step: 0, unsaved: '', usage: undefined, sent: [] };
  const live: LiveTurn = { turn, log: new EventLog(), progress };
  let completed: Awaited<ReturnType<typeof closeCompleted>>;
  try {
    await handler.port?.send({ type: 'opened', turnId: turn.turnId, chatId: turn.chat.id });
    const ctx = extendContext(handler, { signal });
    const maxSteps = Math.min(request.maxSteps ?? parts.maxSteps, parts.maxSteps);
    const emit = emitter(parts, live, handler);
    const { points, sessions, tools, compaction } = parts;
    const end = request.tool
      ? await runDirectTool({ turn, tools, ctx, emit }, request.tool, progress)
      : await runLoop(
          {
            points,
            sessions,
            tools,
            turn,
            ...(await prepare(parts, request, live, ctx)),
            compaction,
            maxSteps,
            ctx,
            emit,
          },
          progress,
        );
    if (end.kind === 'step_limit') return await closeAtLimit(live, end, maxSteps, parts.metrics);
    completed = await closeCompleted(live, request, end, parts.metrics);
  } catch (error) {
    return await closeFailed(live, signal, error, parts.metrics);
  } finally {
    dispose();
  }
  return announceReply(parts, live, request, completed, handler);
}

/** Resolves what the turn talks with, now that it has its session. */
async function prepare(parts: TurnParts, request: TurnRequest, live: LiveTurn, ctx: HandlerContext) {
  const { chat } = live.turn;
  const model = tieredModel(
    resolveModel(chooseSlot(chat.meta, parts.model), parts.providers),
    ctx.decision,
    parts.providers,
    ctx.log,
  );
  live.model = model;
  if (!model.capabilities.attachments && attachments(request.input).length > 0) {
    throw agentError('provider_not_supported');
  }
  checkInput(model.limits, request.input);
  const promptMode = effectiveMode(request.promptMode, chat.meta);
  live.promptMode = promptMode;
  const layers = await buildLayers(
    parts.points,
    parts.prompts,
    { promptMode, sessionId: chat.session.sessionId, userText: userText(request.input), modelSlug: model.model },
    ctx,
  );
  live.layers = layers;
  return { model, layers };
}

function effectiveMode(asked: string | undefined, meta: Readonly<Record<string, unknown>>): PromptMode {
  const wanted = asked ?? meta.prompt_mode;
  return promptModes.find((mode) => mode === wanted) ?? 'default';
}

/** Keeps each event for the turn's record and passes it to the caller, at the caller's pace. */
function emitter(parts: TurnParts, { log }: LiveTurn, { port }: HandlerContext) {
  const startedAt = performance.now();
  let silent = true;
  return async (event: TurnEvent, call?: TurnCall): Promise<void> => {
    if (silent && event.type === 'assistant_delta') {
      silent = false;
      parts.metrics.firstToken((performance.now() - startedAt) / 1_000);
    }
    log.add(event);
    await port?.send(call ? { ...event, call } : event);
  };
}

function failedBefore(error: unknown): TurnResult {
  const failure = failureOf(error);
  if (!failure) throw error;
  return { kind: 'failed', error: failure };
}
