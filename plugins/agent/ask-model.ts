import type { ResolvedModel } from 'mortise/contracts/models';
import type { StoredMessage, TurnUsage } from 'mortise/contracts/sessions';
import type { CallContext, GenerateEvent, GenerateRequest, ModelToolCall } from 'mortise/sdk';
import { buildContext } from './build-context.js';
import { agentError } from './errors.js';
import type { LiveTurn } from './live-turn.js';
import type { TurnDeps } from './turn-deps.js';

export interface ModelAnswer {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  readonly responseId: string | undefined;
  readonly opaque: string | undefined;
}

/**
 * One call of the model with the turn's context and the tools that the caller is offered. Deltas of a streaming adapter
 * are emitted as they come; an adapter that does not stream has one delta with its whole text.
 *
 * @param rows of the chat, oldest first, with those of this turn.
 * @throws the adapter's `provider_*` error, or provider_not_supported, provider_request_failed (an answer without its
 *   `done`), provider_invalid_reply, runner_error
 */
export async function askModel(
  deps: TurnDeps,
  live: LiveTurn,
  model: ResolvedModel,
  rows: readonly StoredMessage[],
  ctx: CallContext,
): Promise<ModelAnswer> {
  const { adapter, capabilities, settings } = model;
  const definitions = capabilities.toolCall ? await deps.tools.definitions(ctx.principal, live.offered) : [];
  const tools = definitions.map(({ name, facts }) => ({
    name,
    description: facts.description ?? facts.summary,
    parameters: facts.inputSchema,
  }));
  live.sent = buildContext(rows, {
    layers: live.layers,
    tools,
    limits: model.limits,
    compaction: deps.compaction,
    turnId: live.turn.turnId,
    modelMessages: deps.sessions.modelMessages,
  });
  const request: GenerateRequest = {
    messages: live.sent,
    sessionId: live.turn.chat.session.sessionId,
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
  live.addUsage(usage);
  return { text, toolCalls, responseId: end.responseId, opaque: end.opaque };
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
