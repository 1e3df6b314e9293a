import { invalidField, readDataUrl, statelessError } from 'mortise/contracts/models';
import {
  describeValue,
  isJsonObject,
  type JsonObject,
  type ModelContentPart,
  type ModelMessage,
  type ModelToolCall,
} from 'mortise/sdk';

/**
 * Claude's `system` and `messages` as neutral messages.
 * @throws invalid_request, or provider_not_supported for attachments that the model does not accept
 */
export function readMessages({ system, messages }: JsonObject, attachments: boolean): readonly ModelMessage[] {
  if (!Array.isArray(messages) || messages.length === 0) throw invalidField('messages is required', 'messages');
  const text = systemText(system);
  return [
    ...(text === '' ? [] : [{ role: 'system', content: text } as const]),
    ...messages.flatMap((message, index) => readMessage(message, `messages.${index}`, attachments)),
  ];
}

function systemText(system: unknown): string {
  if (typeof system === 'string') return system;
  return joinTexts(Array.isArray(system) ? system : system === undefined || system === null ? [] : [system]);
}

function readMessage(message: unknown, path: string, attachments: boolean): readonly ModelMessage[] {
  if (!isJsonObject(message)) throw invalidField(`${path} must be an object`, path);
  const { role, content } = message;
  const blocks = blocksOf(content, path);
  if (role === 'system') return [{ role, content: joinTexts(blocks) }];
  if (role === 'assistant') return assistantMessage(blocks, attachments, path);
  if (role === 'user' || role === 'tool') return userMessages(blocks, attachments, path);
  throw invalidField(`unsupported message role: ${describeValue(role)}`, `${path}.role`);
}

function blocksOf(content: unknown, path: string): readonly JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  if (Array.isArray(content) && content.every(isJsonObject)) return content;
  throw invalidField(`${path}.content must be a string or a list of blocks`, `${path}.content`);
}

function assistantMessage(blocks: readonly JsonObject[], attachments: boolean, path: string): readonly ModelMessage[] {
  const toolCalls: ModelToolCall[] = [];
  const parts: ModelContentPart[] = [];
  for (const block of blocks) {
    if (block.type === 'tool_use') {
      const { id, name, input } = block;
      if (typeof id !== 'string' || typeof name !== 'string') {
        throw invalidField(`${path}: a tool_use block needs an id and a name`, `${path}.content`);
      }
      toolCalls.push({ id, name, arguments: JSON.stringify(input ?? {}) });
    } else parts.push(...readBlock(block, attachments, path));
  }
  if (parts.length === 0 && toolCalls.length === 0) return [];
  return [{ role: 'assistant', content: compact(parts), ...(toolCalls.length === 0 ? {} : { toolCalls }) }];
}

/** The results of tools come first: they follow the message that called the tools. */
function userMessages(blocks: readonly JsonObject[], attachments: boolean, path: string): readonly ModelMessage[] {
  const results: ModelMessage[] = [];
  const parts: ModelContentPart[] = [];
  for (const block of blocks) {
    if (block.type !== 'tool_result') {
      parts.push(...readBlock(block, attachments, path));
      continue;
    }
    const { tool_use_id: toolCallId, is_error: isError } = block;
    if (typeof toolCallId !== 'string') {
      throw invalidField(`${path}: a tool_result block needs a tool_use_id`, `${path}.content`);
    }
    const inner = resultBlocks(block.content, path).flatMap((one) => readBlock(one, attachments, path));
    const text = inner.flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('\n');
    results.push({ role: 'tool', toolCallId, content: isError === true ? `[error] ${text}` : text });
    parts.push(...inner.filter(({ type }) => type !== 'text'));
  }
  return parts.length === 0 ? results : [...results, { role: 'user', content: compact(parts) }];
}

function resultBlocks(content: unknown, path: string): readonly JsonObject[] {
  return content === undefined || content === null ? [] : blocksOf(content, path);
}

/** One part of a message; nothing for the model's thinking, which only its own provider can read. */
function readBlock(block: JsonObject, attachments: boolean, path: string): readonly ModelContentPart[] {
  const { type, text } = block;
  if (type === 'text' && typeof text === 'string') return text === '' ? [] : [{ type, text }];
  if (type === 'thinking' || type === 'redacted_thinking') return [];
  if (type === 'image' || type === 'document') return readFile(block, attachments, path);
  return [{ type: 'text', text: JSON.stringify(block) }];
}

function readFile(block: JsonObject, attachments: boolean, path: string): readonly ModelContentPart[] {
  const { type, title } = block;
  const source = isJsonObject(block.source) ? block.source : {};
  if (source.type === 'text' && typeof source.data === 'string') return [{ type: 'text', text: source.data }];
  if (source.type === 'content') {
    return blocksOf(source.content, path).flatMap((one) => readBlock(one, attachments, path));
  }
  if (!attachments) throw statelessError('provider_not_supported', { param: path });
  const kind = type === 'image' ? 'image' : 'file';
  const name = typeof title === 'string' ? { name: title } : {};
  if (source.type === 'base64' && typeof source.data === 'string' && typeof source.media_type === 'string') {
    return [{ type: kind, mediaType: source.media_type, data: source.data, ...name }];
  }
  if (source.type === 'url' && typeof source.url === 'string') {
    return [{ type: kind, ...(readDataUrl(source.url) ?? { url: source.url }), ...name }];
  }
  throw invalidField(`${path}: the source of a ${describeValue(type)} is not supported`, `${path}.content`);
}

function joinTexts(blocks: readonly unknown[]): string {
  return blocks
    .filter(isJsonObject)
    .flatMap(({ text }) => (typeof text === 'string' && text !== '' ? [text] : []))
    .join('\n\n');
}

/** One text as a string, which every adapter understands. */
function compact(parts: readonly ModelContentPart[]): ModelMessage['content'] {
  const [first] = parts;
  return parts.length === 1 && first?.type === 'text' ? (first.text ?? '') : parts;
}
