import { createHash } from 'node:crypto';
import type { Anthropic } from '@anthropic-ai/sdk';
import { objectOf, providerError, textOfMessage } from 'mortise/contracts/models';
import type {
  GenerateOption,
  GenerateRequest,
  ModelContentPart,
  ModelMessage,
  ModelToolDefinition,
  ProviderSettings,
  ReasoningEffort,
} from 'mortise/sdk';
import { fromOpaque } from './content-blocks.js';

type Block = Anthropic.ContentBlockParam;
type Body = Omit<Anthropic.MessageCreateParams, 'messages'>;

/** Output limit, tokens, of a model whose limit is unknown. */
const defaultOutput = 8_192;
/** The API's minimum thinking budget, tokens. */
const minBudget = 1_024;
const budgets: Readonly<Record<ReasoningEffort, number>> = { minimal: 0, low: 2_048, medium: 8_192, high: 24_576 };

const cached = { cache_control: { type: 'ephemeral' as const } };

/**
 * The body of `POST <base>/v1/messages` as JSON text: the content of earlier answers is inserted as it was received.
 *
 * @param adaptive the model thinks adaptively, and refuses budgets
 */
export function requestBody(request: GenerateRequest, settings: ProviderSettings, adaptive: boolean): string {
  const { model, temperature, topP, stop } = request;
  const { max_tokens, ...thinking } = thinkingMembers(request, settings, adaptive);
  const body: Body = {
    model,
    max_tokens,
    ...promptMembers(request),
    ...thinking,
    // The API does not accept sampling options together with thinking.
    ...(temperature === undefined || thinking.thinking ? {} : { temperature: Math.min(temperature, 1) }),
    ...(topP === undefined || thinking.thinking ? {} : { top_p: topP }),
    ...(stop?.length ? { stop_sequences: [...stop] } : {}),
    ...(request.stream ? { stream: true } : {}),
  };
  return withMessages(body, request.messages);
}

/** Sampling options are ignored with thinking, the effort without it. */
export function ignoredOptions(request: GenerateRequest): readonly GenerateOption[] {
  const thinks = thinkingMembers(request, request.settings, false).thinking !== undefined;
  const ignored: GenerateOption[] = thinks ? ['temperature', 'topP'] : ['reasoningEffort'];
  return request.toolChoice === 'none' ? [...ignored, 'parallelToolCalls'] : ignored;
}

/** The body of `POST <base>/v1/messages/count_tokens`. */
export function countBody(request: GenerateRequest): string {
  return withMessages({ model: request.model, ...promptMembers(request) }, request.messages);
}

function withMessages(body: object, messages: readonly ModelMessage[]): string {
  return `${JSON.stringify(body).slice(0, -1)},"messages":[${wireMessages(messages).join(',')}]}`;
}

function thinkingMembers(
  request: GenerateRequest,
  settings: ProviderSettings,
  adaptive: boolean,
): Pick<Body, 'max_tokens' | 'thinking' | 'output_config'> {
  const limit = request.maxOutputTokens ?? settings.max_output_tokens;
  const effort = mayThink(request) ? (request.reasoningEffort ?? settings.reasoning_effort) : undefined;
  const output = limit ?? defaultOutput;
  if (effort === undefined || budgets[effort] === 0) return { max_tokens: output };
  if (adaptive) {
    return {
      max_tokens: output,
      thinking: { type: 'adaptive' },
      output_config: { effort: effort === 'minimal' ? 'low' : effort },
    };
  }
  // Thinking counts as output: without a known limit, the default is raised by the budget.
  const maxTokens = limit ?? defaultOutput + budgets[effort];
  const budget = Math.min(budgets[effort], maxTokens - minBudget);
  if (budget < minBudget) return { max_tokens: maxTokens };
  return { max_tokens: maxTokens, thinking: { type: 'enabled', budget_tokens: budget } };
}

/** The API does not allow thinking when a tool call is forced. */
function mayThink({ toolChoice }: GenerateRequest): boolean {
  return toolChoice === undefined || toolChoice === 'auto' || toolChoice === 'none';
}

/** System text and tools, each with a cache mark on its last entry. */
function promptMembers({
  messages,
  tools,
  ...request
}: GenerateRequest): Pick<Body, 'system' | 'tools' | 'tool_choice'> {
  const system = messages
    .filter(({ role }) => role === 'system')
    .map(textOfMessage)
    .filter((text) => text.trim() !== '')
    .map((text, index, all) => ({ type: 'text' as const, text, ...(index === all.length - 1 ? cached : {}) }));
  return {
    ...(system.length > 0 ? { system } : {}),
    ...(tools?.length ? { tools: tools.map(wireTool), ...choiceMember(request) } : {}),
  };
}

function wireTool(
  { name, description, parameters }: ModelToolDefinition,
  index: number,
  all: readonly ModelToolDefinition[],
): Anthropic.Tool {
  const schema = { ...parameters, type: 'object' } as Anthropic.Tool['input_schema'];
  return { name, description, input_schema: schema, ...(index === all.length - 1 ? cached : {}) };
}

function choiceMember({
  toolChoice,
  parallelToolCalls,
}: Pick<GenerateRequest, 'toolChoice' | 'parallelToolCalls'>): Pick<Body, 'tool_choice'> {
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (toolChoice === 'none') return { tool_choice: { type: 'none' } };
  if (toolChoice === 'required') return { tool_choice: { type: 'any', ...single } };
  if (typeof toolChoice === 'object') return { tool_choice: { type: 'tool', name: toolChoice.name, ...single } };
  return toolChoice === 'auto' || parallelToolCalls === false ? { tool_choice: { type: 'auto', ...single } } : {};
}

/** Messages as JSON texts. Adjacent user messages and results of tools become one message, as the API requires. */
function wireMessages(messages: readonly ModelMessage[]): readonly string[] {
  const wire: string[] = [];
  let results: Block[] = [];
  let texts: Block[] = [];
  const flush = (): void => {
    // The results of tools come first.
    const content = [...results, ...texts];
    if (content.length > 0) wire.push(JSON.stringify({ role: 'user', content }));
    results = [];
    texts = [];
  };
  for (const message of messages) {
    if (message.role === 'tool') results.push(toolResult(message));
    else if (message.role === 'user') texts.push(...userBlocks(message));
    else if (message.role === 'assistant') {
      flush();
      const content = assistantContent(message);
      if (content !== undefined) wire.push(`{"role":"assistant","content":${content}}`);
    }
  }
  flush();
  return wire;
}

function toolResult(message: ModelMessage): Block {
  const content = textOfMessage(message);
  return {
    type: 'tool_result',
    tool_use_id: acceptedId(message.toolCallId ?? ''),
    ...(content === '' ? {} : { content }),
  };
}

/** JSON text of the blocks; undefined for a message without content. */
function assistantContent(message: ModelMessage): string | undefined {
  const own = fromOpaque(message.opaque);
  if (own !== undefined && own !== '[]') return own;
  const text = textOfMessage(message);
  const blocks = [
    ...(text.trim() === '' ? [] : [JSON.stringify({ type: 'text', text })]),
    ...(message.toolCalls ?? []).map(({ id, name, arguments: args }) => {
      const head = JSON.stringify({ type: 'tool_use', id: acceptedId(id), name });
      return `${head.slice(0, -1)},"input":${objectText(args)}}`;
    }),
  ];
  return blocks.length === 0 ? undefined : `[${blocks.join(',')}]`;
}

/** Replaces call ids of other APIs that this one refuses. Equal ids stay equal, so that a result refers to its call. */
function acceptedId(id: string): string {
  if (/^[a-zA-Z0-9_-]+$/.test(id)) return id;
  return `toolu_${createHash('sha256').update(id).digest('hex').slice(0, 24)}`;
}

/** Wraps arguments that are not an object, because the API accepts only objects. */
function objectText(args: string): string {
  try {
    const value: unknown = JSON.parse(args);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return args;
  } catch {
    // Not JSON.
  }
  return JSON.stringify({ raw_arguments: args });
}

function userBlocks({ content }: ModelMessage): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return content.filter(({ type, text }) => type !== 'text' || (text ?? '') !== '').map(userBlock);
}

const imageTypes: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

function userBlock(part: ModelContentPart): Block {
  const { type, text = '', name } = part;
  if (type === 'text') return { type: 'text', text };
  // Parts in the API's own form.
  if ((type === 'image' || type === 'document') && part.source !== undefined) return part as unknown as Block;
  const { url, data, mediaType = '' } = type === 'image_url' ? fromImageUrl(part) : part;
  const title = name === undefined ? {} : { title: name };
  if (type === 'image' || type === 'image_url') {
    if (data !== undefined && imageTypes.includes(mediaType)) {
      return { type: 'image', source: { type: 'base64', media_type: mediaType as 'image/png', data } };
    }
    if (url !== undefined) return { type: 'image', source: { type: 'url', url } };
  }
  if (type === 'file') {
    if (url !== undefined) return { type: 'document', source: { type: 'url', url }, ...title };
    if (data !== undefined && mediaType === 'application/pdf') {
      return { type: 'document', source: { type: 'base64', media_type: mediaType, data }, ...title };
    }
    if (data !== undefined && mediaType.startsWith('text/')) {
      const plain = Buffer.from(data, 'base64').toString('utf8');
      return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: plain }, ...title };
    }
  }
  throw providerError('provider_not_supported', 'provider does not support attachments of this type');
}

/** A part in the form of chat completions. */
function fromImageUrl({ image_url: image }: ModelContentPart): Pick<ModelContentPart, 'url' | 'data' | 'mediaType'> {
  const { url } = objectOf(image);
  if (typeof url !== 'string') return {};
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return mediaType !== undefined && data !== undefined ? { mediaType, data } : { url };
}
