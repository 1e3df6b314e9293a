import { providerError, textOfMessage } from 'mortise/contracts/models';
import type {
  GenerateRequest,
  ModelContentPart,
  ModelMessage,
  ModelToolDefinition,
  ResponseFormat,
  ToolChoice,
} from 'mortise/sdk';
import type { OpenAI } from 'openai';
import type { Settings } from './clients.js';

export type RequestBody = OpenAI.ChatCompletionCreateParams;

/** The body of `POST <base>/chat/completions`. `withUsage`: asks for the usage at the end of a stream. */
export function requestBody(request: GenerateRequest, settings: Settings, withUsage: boolean): RequestBody {
  const { model, messages, tools, stream, maxOutputTokens, temperature, topP, stop, responseFormat } = request;
  const effort = request.reasoningEffort ?? settings.reasoning_effort;
  return {
    model,
    messages: wireMessages(messages),
    ...(tools?.length ? toolMembers(request, tools) : {}),
    ...(effort ? { reasoning_effort: effort } : {}),
    ...(maxOutputTokens === undefined ? {} : outputLimit(settings.base_url, maxOutputTokens)),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stop?.length ? { stop: [...stop] } : {}),
    ...(responseFormat ? { response_format: wireFormat(responseFormat) } : {}),
    ...storeMembers(request, settings),
    ...(stream ? { stream: true, ...(withUsage ? { stream_options: { include_usage: true } } : {}) } : {}),
  };
}

function toolMembers(
  { toolChoice, parallelToolCalls }: GenerateRequest,
  tools: readonly ModelToolDefinition[],
): Partial<RequestBody> {
  return {
    tools: tools.map(wireTool),
    ...(toolChoice === undefined ? {} : { tool_choice: wireChoice(toolChoice) }),
    ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
  };
}

function wireChoice(choice: ToolChoice): OpenAI.ChatCompletionToolChoiceOption {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}

function wireFormat(format: ResponseFormat): NonNullable<RequestBody['response_format']> {
  if (format.type === 'json_object') return format;
  const { name, schema, strict } = format;
  return {
    type: 'json_schema',
    json_schema: { name, schema: { ...schema }, ...(strict === undefined ? {} : { strict }) },
  };
}

/** Compatible APIs continue a response that they have stored; OpenAI's chat completions cannot. */
function storeMembers(
  { providerId, sessionId, previousResponseId }: GenerateRequest,
  { store }: Settings,
): Readonly<Record<string, unknown>> {
  if (store !== true || providerId === undefined || providerId === 'openai') return {};
  return {
    store: true,
    ...(sessionId === undefined ? {} : { prompt_cache_key: sessionId }),
    ...(previousResponseId === undefined ? {} : { previous_response_id: previousResponseId }),
  };
}

function wireTool({ name, description, parameters }: ModelToolDefinition): OpenAI.ChatCompletionTool {
  return { type: 'function', function: { name, description, parameters: { ...parameters } } };
}

/** OpenAI renamed the limit for reasoning models; compatible APIs use the old name. */
function outputLimit(baseUrl: string, tokens: number): Partial<RequestBody> {
  return new URL(baseUrl).hostname === 'api.openai.com' ? { max_completion_tokens: tokens } : { max_tokens: tokens };
}

type WireMessage = OpenAI.ChatCompletionMessageParam;
type WirePart = OpenAI.ChatCompletionContentPart;

/** Types of parts in the API's own form, which are passed on unchanged. */
const ownParts = ['image_url', 'input_audio', 'file'];

/** Messages in the API's form. An assistant message without text and calls is left out. */
function wireMessages(messages: readonly ModelMessage[]): WireMessage[] {
  return messages.flatMap((message) => wireMessage(message) ?? []);
}

function wireMessage(message: ModelMessage): WireMessage | undefined {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: textOfMessage(message) };
    case 'user':
      return { role: 'user', content: userContent(message) };
    case 'assistant':
      return assistantMessage(message);
    case 'tool':
      return toolMessage(message);
  }
}

function assistantMessage(message: ModelMessage): WireMessage | undefined {
  const content = textOfMessage(message);
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
  return { role: 'tool', tool_call_id: toolCallId, content: textOfMessage(message), ...own };
}

function userContent(message: ModelMessage): string | WirePart[] {
  const { content } = message;
  if (typeof content === 'string' || content.every(({ type }) => type === 'text')) return textOfMessage(message);
  return content.map(wirePart);
}

function wirePart(part: ModelContentPart): WirePart {
  const { type, text = '', url, data, mediaType, name } = part;
  if (type === 'text') return { type: 'text', text };
  if (isOwnPart(part)) return part as unknown as WirePart;
  const dataUrl = data === undefined ? undefined : `data:${mediaType ?? 'application/octet-stream'};base64,${data}`;
  if (type === 'image' && (url ?? dataUrl)) return { type: 'image_url', image_url: { url: url ?? dataUrl ?? '' } };
  const format = audioFormats[mediaType ?? ''];
  if (type === 'audio' && data !== undefined && format) return { type: 'input_audio', input_audio: { data, format } };
  if (type === 'file' && dataUrl) return { type: 'file', file: { file_data: dataUrl, filename: name ?? 'file' } };
  throw providerError('provider_not_supported', 'provider does not support attachments of this type');
}

const audioFormats: Readonly<Record<string, 'wav' | 'mp3'>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
};

function isOwnPart(part: ModelContentPart): boolean {
  return ownParts.includes(part.type) && part[part.type] !== undefined;
}
