import type { ResolvedModel } from 'mortise/contracts/models';
import type { StoredMessage, TurnUsage } from 'mortise/contracts/sessions';
import type { CallContext, GenerateEvent, GenerateRequest, ModelToolCall, ModelToolDefinition } from 'mortise/sdk';
import { buildContext } from './build-context.js';
import { agentError, failureOf } from './errors.js';
import type { LiveTurn } from './live-turn.js';
import type { TurnDeps } from './turn-deps.js';

export interface ModelAnswer {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  readonly responseId: string | undefined;
  readonly opaque: string | undefined;
}

/** Errors of a provider that a fallback provider may avoid. */
const fallbackCodes: ReadonlySet<string> = new Set([
  'provider_request_failed',
  'provider_invalid_reply',
  'provider_not_configured',
  'runner_error',
]);

/**
 * Asks the turn's model. A model that fails before its first output is replaced by the next configured fallback for the
 * rest of the turn.
 *
 * @throws as {@link askModel}: the error of the first model when no other can answer
 */
export async function askModels(
  deps: TurnDeps,
  live: LiveTurn,
  model: ResolvedModel,
  rows: readonly StoredMessage[],
  ctx: CallContext,
): Promise<ModelAnswer> {
  try {
    return await askModel(deps, live, model, rows, ctx);
  } catch (failure) {
    if (!mayReplace(failure, live, ctx)) throw failure;
    const hasAttachments = live.sent.some(({ content }) => typeof content !== 'string');
    for (const other of await deps.models.fallbacks(model)) {
      if (hasAttachments && !other.capabilities.attachments) continue;
      const { providerId } = other;
      ctx.log.warn({ code: failureOf(failure)?.code, provider_id: providerId }, 'falling back to another model');
      live.model = other;
      try {
        return await askModel(deps, live, other, rows, ctx);
      } catch (error) {
        if (!mayReplace(error, live, ctx)) throw error;
      }
    }
    live.model = model;
    throw failure;
  }
}

function mayReplace(error: unknown, { unsaved }: LiveTurn, { signal }: CallContext): boolean {
  return unsaved === '' && !signal.aborted && fallbackCodes.has(failureOf(error)?.code ?? '');
}

/**
 * One call of the model with the turn's context and the tools that the caller is offered. Deltas of a streaming adapter
 * are emitted as they arrive; an adapter that does not stream yields one delta with its whole text.
 *
 * @param rows of the chat, oldest first, with those of this turn.
 * @throws the adapter's `provider_*` error, or provider_not_supported, provider_request_failed (an answer without its
 *   `done`), provider_invalid_reply, runner_error
 */
async function askModel(
  deps: TurnDeps,
  live: LiveTurn,
  model: ResolvedModel,
  rows: readonly StoredMessage[],
  ctx: CallContext,
): Promise<ModelAnswer> {
  const { adapter, capabilities, settings } = model;
  const tools = await offeredTools(deps, live, model, ctx);
  live.sent = buildContext(rows, {
    layers: live.layers,
    tools,
    limits: model.limits,
    compaction: deps.compaction,
    omitted: live.omitted,
    turnId: live.turn.turnId,
    modelMessages: deps.sessions.modelMessages,
  });
  const request: GenerateRequest = {
    messages: live.sent,
    providerId: model.providerId,
    sessionId: live.turn.chat.session.sessionId,
    ...previousResponse(rows, model),
    ...(tools.length === 0 ? {} : { tools }),
    model: model.model,
    stream: capabilities.stream,
    settings,
  };
  let text = '';
  let toolCalls: readonly ModelToolCall[] = [];
  let usage: TurnUsage | undefined;
  let end: Extract<GenerateEvent, { type: 'done' }> | undefined;
  try {
    const events = deps.points.stream('provider', adapter, (provider, call) => provider.generate(request, call), ctx);
    for await (const event of events) {
      // After `done` only the usage still counts.
      if (end && event.type !== 'usage') continue;
      if (event.type === 'content_delta') {
        if (event.text === '') continue;
        text += event.text;
        // Awaited before the next event is read: a slow reader slows the provider down.
        if (capabilities.stream) await live.emitText(event.text);
      } else if (event.type === 'tool_calls_complete') toolCalls = event.toolCalls;
      else if (event.type === 'usage') usage = { inputTokens: event.inputTokens, outputTokens: event.outputTokens };
      else if (event.type === 'done') end = event;
    }
  } catch (error) {
    ctx.signal.throwIfAborted();
    throw asModelError(error, adapter);
  }
  if (!end) throw agentError('provider_request_failed', { details: { cause: 'incomplete_stream' } });
  if (!capabilities.stream && text !== '') await live.emitText(text);
  if (toolCalls.length > 0 && !capabilities.toolCall) throw agentError('provider_invalid_reply');
  live.addUsage(usage, model);
  return { text, toolCalls, responseId: end.responseId, opaque: end.opaque };
}

/** Definitions of the tools that are sent with each request of the turn. */
export async function offeredTools(
  { tools }: TurnDeps,
  live: LiveTurn,
  { capabilities }: ResolvedModel,
  { principal }: CallContext,
): Promise<readonly ModelToolDefinition[]> {
  if (!capabilities.toolCall) return [];
  return (await tools.registry.definitions(principal, live.tools)).map(({ name, facts }) => ({
    name,
    description: facts.description ?? facts.summary,
    parameters: facts.inputSchema,
  }));
}

/** The response that this request continues, if the provider stores responses and produced the newest one of the chat. */
function previousResponse(
  rows: readonly StoredMessage[],
  { providerId, settings }: ResolvedModel,
): Pick<GenerateRequest, 'previousResponseId'> {
  if (settings.store !== true) return {};
  const { provider_response_id: id, provider_id: from } = rows.findLast(({ role }) => role === 'assistant')?.meta ?? {};
  return typeof id === 'string' && from === providerId ? { previousResponseId: id } : {};
}

function asModelError(error: unknown, adapter: string): unknown {
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === 'contribution_unknown') {
    return agentError('provider_not_supported', { message: `adapter "${adapter}" is not supported` });
  }
  return typeof code === 'string' && code.startsWith('provider_')
    ? error
    : agentError('runner_error', { cause: error });
}
