import { invalidField, statelessError } from 'mortise/contracts/models';
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
 * The messages of a chat in neutral form.
 * @throws invalid_request, or provider_not_supported for attachments that the model does not accept
 */
export function readChatMessages(messages: unknown, attachments: boolean): readonly ModelMessage[] {
  if (!Array.isArray(messages) || messages.length === 0) throw invalidField('messages is required', 'messages');
  // The legacy form of calls has no ids: a result belongs to the latest call of its name.
  const ids = new Map<string, string>();
  return messages.map((message, index) => readMessage(message, { path: `messages.${index}`, attachments, index, ids }));
}

interface Reading {
  readonly path: string;
  readonly attachments: boolean;
  readonly index: number;
  readonly ids: Map<string, string>;
}

function readMessage(message: unknown, reading: Reading): ModelMessage {
  const { path, ids } = reading;
  if (!isJsonObject(message)) throw invalidField(`${path} must be an object`, path);
  const { role, name } = message;
  const content = readContent(message.content, reading);
  if (role === 'system' || role === 'developer') return { role: 'system', content };
  if (role === 'user') return { role, content, ...(typeof name === 'string' ? { name } : {}) };
  if (role === 'assistant') return readAssistant(message, content, reading);
  if (role === 'tool') {
    const { tool_call_id: toolCallId } = message;
    if (typeof toolCallId !== 'string') throw invalidField(`${path}.tool_call_id is required`, path);
    return { role, toolCallId, content };
  }
  if (role === 'function' && typeof name === 'string') {
    return { role: 'tool', toolCallId: ids.get(name) ?? `call_${name}`, content, name };
  }
  throw invalidField(`unsupported message role: ${describeValue(role)}`, `${path}.role`);
}

function readAssistant(message: JsonObject, content: ModelMessage['content'], reading: Reading): ModelMessage {
  const { path, index, ids } = reading;
  const { tool_calls: listed, function_call: legacy } = message;
  const toolCalls: ModelToolCall[] = (Array.isArray(listed) ? listed : []).map((call: unknown) => {
    const { id, function: called } = isJsonObject(call) ? call : {};
    if (typeof id !== 'string' || !isJsonObject(called)) throw invalidField(`${path}.tool_calls is not valid`, path);
    return readCall(called, id, path);
  });
  if (isJsonObject(legacy)) {
    const call = readCall(legacy, `call_${index}`, path);
    ids.set(call.name, call.id);
    toolCalls.push(call);
  }
  return { role: 'assistant', content, ...(toolCalls.length === 0 ? {} : { toolCalls }) };
}

function readCall({ name, arguments: text }: JsonObject, id: string, path: string): ModelToolCall {
  if (typeof name !== 'string') throw invalidField(`${path}: a call requires the name of its function`, path);
  return { id, name, arguments: typeof text === 'string' ? text : '{}' };
}

function readContent(content: unknown, { path, attachments }: Reading): ModelMessage['content'] {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return '';
  if (!Array.isArray(content)) throw invalidField(`${path}.content must be a string or a list of parts`, path);
  const parts = content.map((part: unknown, index) => readPart(part, `${path}.content.${index}`, attachments));
  const [first] = parts;
  return parts.length === 1 && first?.type === 'text' ? (first.text ?? '') : parts;
}

function readPart(part: unknown, path: string, attachments: boolean): ModelContentPart {
  if (!isJsonObject(part)) throw invalidField(`${path} must be an object`, path);
  const { type, text, refusal, image_url: image, input_audio: audio, file } = part;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if (type === 'refusal' && typeof refusal === 'string') return { type: 'text', text: refusal };
  if (type === 'image_url') {
    return attachment('image', isJsonObject(image) ? image.url : image, { attachments, path });
  }
  if (type === 'input_audio' && isJsonObject(audio) && typeof audio.data === 'string') {
    if (!attachments) throw statelessError('provider_not_supported', { param: path });
    return {
      type: 'audio',
      mediaType: `audio/${audio.format === 'mp3' ? 'mpeg' : describeValue(audio.format)}`,
      data: audio.data,
    };
  }
  if (type === 'file' && isJsonObject(file)) {
    return attachment('file', file.file_data, { attachments, path, name: file.filename });
  }
  throw invalidField(`${path}: a part of type ${describeValue(type)} is not supported`, path);
}
