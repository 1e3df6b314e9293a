import type { MessageRole, NewMessage } from 'mortise/contracts/sessions';
import { isJsonObject, isUnstorableText, type ModelContentPart } from 'mortise/sdk';
import { agentError } from './errors.js';

const roles: readonly MessageRole[] = ['system', 'assistant', 'user', 'tool'];

/** The request's `input` as rows; an unknown role becomes `user`. */
export function readInput(value: unknown): readonly NewMessage[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw agentError('invalid_json');
  return value.map(readMessage);
}

function readMessage(value: unknown): NewMessage {
  if (!isJsonObject(value)) throw agentError('invalid_json');
  const { role = 'user', type = 'message', content = [] } = value;
  if (typeof role !== 'string' || typeof type !== 'string' || !Array.isArray(content)) throw agentError('invalid_json');
  const parts = content.map(readPart);
  const plain = parts.length === 1 && isPlainText(parts[0]);
  return {
    role: roles.find((known) => known === role) ?? 'user',
    content: textOf(parts),
    ...(plain ? {} : { parts }),
    ...(type === 'message' ? {} : { type: type.slice(0, 32) }),
  };
}

function readPart(value: unknown): ModelContentPart {
  if (!isJsonObject(value)) throw agentError('invalid_json');
  const { type = 'text', text } = value;
  if (typeof type !== 'string' || (text !== undefined && typeof text !== 'string')) throw agentError('invalid_json');
  // Neither database can store it.
  if (text?.includes('\u0000')) {
    throw agentError('invalid_request', { message: 'the text of a message must not have NUL characters' });
  }
  if (text !== undefined && isUnstorableText(text)) {
    throw agentError('invalid_request', { message: 'the text of a message must not have lone surrogates' });
  }
  return { ...value, type } as ModelContentPart;
}

function isPlainText(part: ModelContentPart | undefined): boolean {
  return part?.type === 'text' && Object.keys(part).every((member) => member === 'type' || member === 'text');
}

function textOf(parts: readonly ModelContentPart[]): string {
  return parts.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n');
}

/** The user messages of the input, one line per message. */
export function userText(input: readonly NewMessage[]): string {
  return input
    .filter(({ role, content }) => role === 'user' && content !== '')
    .map(({ content }) => content)
    .join('\n');
}

/** Parts of the input that are not text. */
export function attachments(input: readonly NewMessage[]): readonly ModelContentPart[] {
  return input.flatMap(({ parts }) => (parts ?? []).filter(({ type }) => type !== 'text'));
}

/** The reply to the command `/new`. */
export const newChatReply = '上下文已清理，已开始新会话。';

/** Whether the first user message is `/new`, the command that starts a new chat. */
export function isNewCommand(input: readonly NewMessage[]): boolean {
  const first = input.find(({ role }) => role === 'user');
  const texts = first?.parts?.map(({ text }) => text ?? '') ?? [first?.content ?? ''];
  return (
    texts
      .find((text) => text.trim() !== '')
      ?.trim()
      .toLowerCase() === '/new'
  );
}
