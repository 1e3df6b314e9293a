import { invalidField } from 'mortise/contracts/models';
import {
  describeValue,
  isJsonObject,
  type JsonObject,
  type ModelContentPart,
  type ModelMessage,
  type ModelToolCall,
} from 'mortise/sdk';
import { attachment } from '../options.js';

/**
 * `instructions` and `input` in neutral form. Items of unknown types are left out and named in `ignored`.
 * @throws invalid_request, or provider_not_supported for attachments that the model does not accept
 */
export function readInput(
  { instructions, input }: JsonObject,
  attachments: boolean,
  ignored: string[],
): readonly ModelMessage[] {
  const system: readonly ModelMessage[] =
    typeof instructions === 'string' && instructions !== '' ? [{ role: 'system', content: instructions }] : [];
  if (typeof input === 'string' && input !== '') return [...system, { role: 'user', content: input }];
  if (!Array.isArray(input) || input.length === 0) throw invalidField('input is required', 'input');
  const messages: ModelMessage[] = [...system];
  for (const [index, item] of input.entries()) {
    const path = `input.${index}`;
    if (!isJsonObject(item)) throw invalidField(`${path} must be an object`, path);
    if (item.type === 'function_call') addCall(messages, readCall(item, path));
    else if (item.type === 'function_call_output') messages.push(readResult(item, path, attachments));
    else if (item.type === undefined || item.type === 'message') messages.push(readMessage(item, path, attachments));
    else if (item.type !== 'reasoning') ignored.push(`input.${describeValue(item.type)}`);
  }
  return messages;
}

function readMessage({ role, content }: JsonObject, path: string, attachments: boolean): ModelMessage {
  const known = role === 'developer' ? 'system' : role;
  if (known !== 'system' && known !== 'user' && known !== 'assistant') {
    throw invalidField(`unsupported message role: ${describeValue(role)}`, `${path}.role`);
  }
  return { role: known, content: readContent(content, path, attachments) };
}

/** Calls that follow each other belong to one message. */
function addCall(messages: ModelMessage[], call: ModelToolCall): void {
  const last = messages.at(-1);
  if (last?.role === 'assistant') {
    messages[messages.length - 1] = { ...last, toolCalls: [...(last.toolCalls ?? []), call] };
  } else messages.push({ role: 'assistant', content: '', toolCalls: [call] });
}

function readCall({ call_id: id, name, arguments: text }: JsonObject, path: string): ModelToolCall {
  if (typeof id !== 'string' || typeof name !== 'string') {
    throw invalidField(`${path}: a function_call requires a call_id and a name`, path);
  }
  return { id, name, arguments: typeof text === 'string' ? text : '{}' };
}

function readResult({ call_id: toolCallId, output }: JsonObject, path: string, attachments: boolean): ModelMessage {
  if (typeof toolCallId !== 'string') throw invalidField(`${path}.call_id is required`, path);
  return { role: 'tool', toolCallId, content: readContent(output, path, attachments) };
}

function readContent(content: unknown, path: string, attachments: boolean): ModelMessage['content'] {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw invalidField(`${path}.content must be a string or a list of parts`, path);
  const parts = content.map((part: unknown, index) => readPart(part, `${path}.content.${index}`, attachments));
  const [first] = parts;
  return parts.length === 1 && first?.type === 'text' ? (first.text ?? '') : parts;
}

function readPart(part: unknown, path: string, attachments: boolean): ModelContentPart {
  if (!isJsonObject(part)) throw invalidField(`${path} must be an object`, path);
  const { type, text, refusal, image_url: image, file_data: data, file_url: url, filename: name } = part;
  if ((type === 'input_text' || type === 'output_text' || type === 'text') && typeof text === 'string') {
    return { type: 'text', text };
  }
  if (type === 'refusal' && typeof refusal === 'string') return { type: 'text', text: refusal };
  if (type === 'input_image') return attachment('image', image, { attachments, path });
  if (type === 'input_file') return attachment('file', data ?? url, { attachments, path, name });
  throw invalidField(`${path}: a part of type ${describeValue(type)} is not supported`, path);
}
