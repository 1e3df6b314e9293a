import type { TurnUsage } from 'mortise/contracts/sessions';
import type { CallContext, GenerateEvent, GenerateRequest, ModelToolCall, Points } from 'mortise/sdk';
import { agentError } from './errors.js';
import type { ResolvedModel } from './resolve-model.js';

export interface ModelAnswer {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  readonly usage: TurnUsage | undefined;
  readonly responseId: string | undefined;
  readonly opaque: string | undefined;
}

export interface AskModelOptions {
  readonly points: Points;
  readonly model: ResolvedModel;
  readonly request: Pick<GenerateRequest, 'messages' | 'tools' | 'sessionId'>;
  readonly ctx: CallContext;
  /** Awaited before the next piece is read, so that a slow reader slows the provider down. */
  readonly onDelta: (text: string) => Promise<void> | void;
}

/**
 * One call of the model. Deltas of a streaming adapter are passed on as they come; an adapter that does not stream has
 * one delta with its whole text.
 *
 * @throws the adapter's `provider_*` error, or provider_not_supported, provider_request_failed (an answer without its
 *   `done`), provider_invalid_reply, runner_error
 */
export async function askModel({ points, model, request, ctx, onDelta }: AskModelOptions): Promise<ModelAnswer> {
  const { adapter, capabilities, settings } = model;
  const asked: GenerateRequest = { ...request, model: model.model, stream: capabilities.stream, settings };
  let text = '';
  let toolCalls: readonly ModelToolCall[] = [];
  let usage: TurnUsage | undefined;
  let end: Extract<GenerateEvent, { type: 'done' }> | undefined;
  try {
    const events = points.stream('provider', adapter, (provider, call) => provider.generate(asked, call), ctx);
    for await (const event of events) {
      // Nothing belongs to an answer that is complete; what it cost may still be told.
      if (end && event.type !== 'usage') continue;
      if (event.type === 'content_delta') {
        if (event.text === '') continue;
        text += event.text;
        if (capabilities.stream) await onDelta(event.text);
      } else if (event.type === 'tool_calls_complete') toolCalls = event.toolCalls;
      else if (event.type === 'usage') usage = { inputTokens: event.inputTokens, outputTokens: event.outputTokens };
      else end = event;
    }
  } catch (error) {
    ctx.signal.throwIfAborted();
    throw worded(error, adapter);
  }
  if (!end) throw agentError('provider_request_failed', { details: { cause: 'incomplete_stream' } });
  if (!capabilities.stream && text !== '') await onDelta(text);
  if (toolCalls.length > 0 && !capabilities.toolCall) throw agentError('provider_invalid_reply');
  return { text, toolCalls, usage, responseId: end.responseId, opaque: end.opaque };
}

function worded(error: unknown, adapter: string): unknown {
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === 'contribution_unknown') {
    return agentError('provider_not_supported', { message: `adapter "${adapter}" is not supported` });
  }
  return typeof code === 'string' && code.startsWith('provider_')
    ? error
    : agentError('runner_error', { cause: error });
}
