import { isDeepStrictEqual } from 'node:util';
import {
  cutText,
  type PreparedPrompt,
  type TurnEvent,
  type TurnRequest,
  type TurnResult,
} from 'mortise/contracts/agent';
import type { HandlerContext } from 'mortise/contracts/conversation';
import type { ResolvedModel } from 'mortise/contracts/models';
import type { Chat, NewMessage, OpenTurnResult, StoredMessage, TurnDetail } from 'mortise/contracts/sessions';
import { type CallContext, extendContext, type PromptRequest } from 'mortise/sdk';
import { askModels, type ModelAnswer } from './ask-model.js';
import { checkInput, historyLimit } from './build-context.js';
import { buildLayers } from './build-layers.js';
import { effectiveMode, type PromptMode } from './business-params.js';
import { closeAtLimit, closeCompleted, closeFailed, type TurnReply } from './close-turn.js';
import { compactHistory, isCompactCommand, replyAsSummary, summaryLayer } from './compact-history.js';
import { agentError, failureOf } from './errors.js';
import { attachments, userText } from './input-messages.js';
import { LiveTurn } from './live-turn.js';
import { promptRequest } from './prompt-request.js';
import { applyTier, ownSlot } from './resolve-model.js';
import { LoopDetector, runToolCall } from './run-tool-call.js';
import { sendReply } from './send-reply.js';
import { directToolError } from './tool-errors.js';
import { toolScope } from './tool-scope.js';
import type { TurnDeps } from './turn-deps.js';
import { endOf, turnSignal } from './turn-signal.js';

/** The answer of a turn that has used up its steps. */
export const limitText = "I've reached the maximum number of tool calls. Please try again.";
const emptyReply = '(empty reply)';

/**
 * One agent turn, in the session's worker: claims the session, asks the model and runs its tools, stores the outcome
 * together with the release, and sends the reply. Expected failures are results; only an unexpected error is thrown,
 * after the turn was closed.
 */
export async function runTurn(deps: TurnDeps, request: TurnRequest, ctx: HandlerContext): Promise<TurnResult> {
  let claimed: OpenTurnResult;
  try {
    const { session, input, idempotency, promptMode, chatMeta } = request;
    const { correlationId, trace } = ctx;
    claimed = await deps.sessions.openTurn(
      { session, input, idempotency, promptMode, chatMeta, correlationId, traceId: trace.traceId },
      { waitMs: request.waitUntil - deps.now(), signal: ctx.signal },
    );
  } catch (error) {
    return failedBefore(ctx.signal.aborted ? endOf(ctx.signal.reason).error : error);
  }
  if (claimed.kind === 'replay') return replayOf(claimed.turn);
  if (claimed.kind === 'busy') {
    const code = request.waitUntil === 0 ? 'session_busy' : 'turn_queue_timeout';
    return failedBefore(agentError(code, { retryAfterSeconds: 1 }));
  }
  const { meta } = claimed.turn.chat;
  const mode = effectiveMode(request.promptMode, meta);
  const scope = toolScope(mode, meta, request.chatMeta ?? {}, request.runtimeTools ?? {});
  const tools = { ...scope, only: request.tools };
  const live = new LiveTurn(claimed.turn, tools, ctx.port, deps.metrics);
  const { signal, dispose } = turnSignal([ctx.signal, live.turn.signal], deps.turnTimeoutMs);
  let completed: Extract<TurnEvent, { type: 'completed' }>;
  try {
    await ctx.port?.send({ type: 'opened', turnId: live.turn.turnId, chatId: live.turn.chat.id });
    const turnCtx = extendContext(ctx, { signal });
    const maxSteps = Math.min(request.maxSteps ?? deps.maxSteps, deps.maxSteps);
    const reply = request.tool
      ? await callNamedTool(deps, live, request.tool, turnCtx)
      : await converse(deps, live, await prepare(deps, live, request, turnCtx), maxSteps, turnCtx);
    if (reply.kind === 'step_limit') return await closeAtLimit(live, reply, maxSteps, deps.metrics);
    completed = await closeCompleted(live, reply, request.debug === true, deps.metrics);
    announceTask(deps, live, ctx);
  } catch (error) {
    return await closeFailed(live, signal, error, deps.metrics);
  } finally {
    dispose();
  }
  return sendReply(deps, live, request, completed, ctx);
}

/** Resolves model and prompt, now that the session is claimed and its chat is known. */
async function prepare(
  deps: TurnDeps,
  live: LiveTurn,
  { input, promptMode: requestedMode, runtimeTools, model: own, prompt }: TurnRequest,
  ctx: HandlerContext,
): Promise<ResolvedModel> {
  const { chat } = live.turn;
  const resolved = await deps.models.resolve(own ?? ownSlot(chat.meta), deps.model);
  const model = await applyTier(resolved, ctx.decision, deps.models, ctx.log);
  live.model = model;
  if (!model.capabilities.attachments && attachments(input).length > 0) throw agentError('provider_not_supported');
  checkInput(model.limits, input);
  const promptMode = effectiveMode(requestedMode, chat.meta);
  live.promptMode = promptMode;
  const { sessionId, userId } = chat.session;
  const request = promptRequest({
    promptMode,
    meta: { ...chat.meta, ...runtimeTools },
    userText: userText(input),
    sessionId,
    userId,
    modelSlug: model.model,
    tools: await toolNames(deps, live, promptMode, ctx),
  });
  live.task = request.taskCommand;
  live.layers = prompt && isCurrent(prompt, request, chat) ? prompt.layers : await buildLayers(deps, request, ctx);
  return model;
}

/** Whether a prompt that was built before the session was claimed is still valid: no turn has ended in the chat since. */
function isCurrent(prompt: PreparedPrompt, request: PromptRequest, { createdAt, updatedAt }: Chat): boolean {
  return (prompt.chatUpdatedAt ?? createdAt) === updatedAt && isDeepStrictEqual(prompt.request, request);
}

/** Only prompts of the codex mode name the tools. */
async function toolNames(
  { tools }: TurnDeps,
  { tools: scope }: LiveTurn,
  promptMode: PromptMode,
  { principal }: CallContext,
): Promise<readonly string[] | undefined> {
  if (promptMode !== 'codex') return undefined;
  return (await tools.registry.definitions(principal, scope)).map(({ name }) => name);
}

/**
 * Asks the model, runs the tools it calls and asks again, until it answers or the steps are used up. The model's row is
 * stored before any of its tools runs, each tool's row right after it.
 */
async function converse(
  deps: TurnDeps,
  live: LiveTurn,
  model: ResolvedModel,
  maxSteps: number,
  ctx: CallContext,
): Promise<TurnReply> {
  const { turn } = live;
  const recent = await turn.recentHistory(historyLimit(model.limits, deps.compaction));
  const { messages, summary, omitted } = await compactHistory(deps, live, model, recent, ctx);
  live.omitted = omitted;
  if (summary !== undefined) live.layers = [...live.layers, summaryLayer(summary)];
  const rows: StoredMessage[] = [...messages];
  const detector = new LoopDetector();
  for (;;) {
    await live.beginStep(ctx.signal);
    const { step } = live;
    const answer = await askModels(deps, live, live.model ?? model, rows, ctx);
    if (answer.toolCalls.length === 0) {
      const reply = await finalReply(live, answer);
      return isCompactCommand(live, rows) ? { ...reply, summary: replyAsSummary(live, answer.text, rows) } : reply;
    }
    const meta = { step, ...answerMeta(live, answer) };
    rows.push(...(await turn.append([{ role: 'assistant', content: answer.text, toolCalls: answer.toolCalls, meta }])));
    live.unsaved = '';
    for (const call of answer.toolCalls) {
      const result = await runToolCall(deps.tools, live, call, 'agent', ctx);
      rows.push(...result.rows);
      if (detector.isLoop(call, result.outcome.text, maxSteps - step)) {
        throw agentError('agent_loop_detected', { details: { tool: call.name } });
      }
    }
    if (step < maxSteps) continue;
    await live.emitText(limitText);
    const message: NewMessage = {
      role: 'assistant',
      content: limitText,
      status: 'limit',
      meta: { step, ...live.orderMeta },
    };
    return { kind: 'step_limit', message, responseId: answer.responseId };
  }
}

async function finalReply(live: LiveTurn, answer: ModelAnswer): Promise<TurnReply> {
  const isBlank = answer.text.trim() === '';
  if (isBlank) await live.emitText(emptyReply);
  const content = isBlank ? emptyReply : answer.text;
  const meta = { step: live.step, ...live.orderMeta, ...answerMeta(live, answer) };
  return { kind: 'answered', message: { role: 'assistant', content, meta }, responseId: answer.responseId };
}

/**
 * A turn that is one call of a tool, without a model: the reply is the tool's text.
 *
 * @throws the error of a failed call
 */
async function callNamedTool(
  deps: TurnDeps,
  live: LiveTurn,
  { name, arguments: input }: NonNullable<TurnRequest['tool']>,
  ctx: CallContext,
): Promise<TurnReply> {
  await live.beginStep(ctx.signal);
  const call = { id: 'call_1', name, arguments: JSON.stringify(input) };
  await live.turn.append([{ role: 'assistant', content: '', toolCalls: [call], meta: { step: live.step } }]);
  const { outcome } = await runToolCall(deps.tools, live, call, 'direct', ctx);
  if (!outcome.ok) throw directToolError(name, outcome.error);
  for (const delta of cutText(outcome.text)) await live.emitText(delta);
  const meta = { step: live.step, tool_order: 1, text_order: 2 };
  return { kind: 'answered', message: { role: 'assistant', content: outcome.text, meta }, responseId: undefined };
}

function announceTask(
  deps: TurnDeps,
  { task, turn, model }: LiveTurn,
  { principal, correlationId }: CallContext,
): void {
  if (task === undefined) return;
  const { turnId, chat } = turn;
  deps.taskCompleted({ task, turnId, chatId: chat.id, session: chat.session, model, principal, correlationId });
}

/** The stored answer of an earlier turn with the same idempotency key. */
export function replayOf({ turnId, reply, events }: TurnDetail): Extract<TurnResult, { kind: 'replayed' }> {
  return { kind: 'replayed', turnId, reply: reply ?? '', events: events as readonly TurnEvent[] };
}

function answerMeta({ model }: LiveTurn, { responseId, opaque }: ModelAnswer): Readonly<Record<string, unknown>> {
  return {
    ...(responseId === undefined ? {} : { provider_response_id: responseId, provider_id: model?.providerId }),
    ...(opaque === undefined ? {} : { opaque }),
  };
}

function failedBefore(error: unknown): TurnResult {
  const failure = failureOf(error);
  if (!failure) throw error;
  return { kind: 'failed', error: failure };
}
