import type { GenerateRequest, ModelContentPart, ModelMessage, ModelToolDefinition } from 'mortise/sdk';
import type { OpenAI } from 'openai';
import type { Config } from './config.generated.js';
import { providerError } from './errors.js';

export type RequestBody = OpenAI.ChatCompletionCreateParams;

/** The body of `POST <base>/chat/completions`. `withUsage`: asks for the usage at the end of a stream. */
export function requestBody(
  { model, messages, tools, stream, maxOutputTokens }: GenerateRequest,
  { base_url, reasoning_effort }: Config,
  withUsage: boolean,
): RequestBody {
  return {
    model,
    messages: wireMessages(messages),
    ...(tools?.length ? { tools: tools.map(wireTool) } : {}),
    ...(reasoning_effort ? { reasoning_effort } : {}),
    ...(maxOutputTokens === undefined ? {} : outputLimit(base_url, maxOutputTokens)),
    ...(stream ? { stream: true, ...(withUsage ? { stream_options: { include_usage: true } } : {}) } : {}),
  };
}

function wireTool({ name, description, parameters }: ModelToolDefinition): OpenAI.ChatCompletionTool {
  return { type: 'function', function: { name, description, parameters: { ...parameters } } };
}

/** OpenAI renamed the limit for reasoning models; compatible APIs know the old name. */
function outputLimit(baseUrl: string, tokens: number): Partial<RequestBody> {
  return new URL(baseUrl).hostname === 'api.openai.com' ? { max_completion_tokens: tokens } : { max_tokens: tokens };
}

type WireMessage = OpenAI.ChatCompletionMessageParam;
type WirePart = OpenAI.ChatCompletionContentPart;

/** Parts that are passed on unchanged: they have the API's own form. */
const ownParts = ['image_url', 'input_audio', 'file'];

/** Messages in the API's form. An assistant message without text and calls is left out. */
function wireMessages(messages: readonly ModelMessage[]): WireMessage[] {
  return messages.flatMap((message) => wireMessage(message) ?? []);
}

function wireMessage(message: ModelMessage): WireMessage | undefined {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: textOf(message) };
    case 'user':
      return { role: 'user', content: userContent(message) };
    case 'assistant':
      return assistantMessage(message);
    case 'tool':
      return toolMessage(message);
  }
}

function assistantMessage(message: ModelMessage): WireMessage | undefined {
  const content = textOf(message);
  const calls = message.toolCalls ?? [];
  if (calls.length === 0) return content === '' ? undefined : { role: 'assistant', content };
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    tool_calls: calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })),
  };
}

/** OpenAI does not define `name` here, but some compatible APIs require it. */
function toolMessage(message: ModelMessage): WireMessage {
  const { toolCallId = '', name } = message;
  const own = name === undefined ? {} : { name };
  return { role: 'tool', tool_call_id: toolCallId, content: textOf(message), ...own };
}

function userContent(message: ModelMessage): string | WirePart[] {
  const { content } = message;
  if (typeof content === 'string' || content.every(({ type }) => type === 'text')) return textOf(message);
  return content.map(wirePart);
}

function wirePart(part: ModelContentPart): WirePart {
  if (part.type === 'text') return { type: 'text', text: part.text ?? '' };
  if (ownParts.includes(part.type)) return part as unknown as WirePart;
  if (part.type === 'image' && typeof part.url === 'string') return { type: 'image_url', image_url: { url: part.url } };
  throw providerError('provider_not_supported', 'provider does not support attachments of this type');
}

function textOf({ content }: ModelMessage): string {
  if (typeof content === 'string') return content;
  return content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n');
}
