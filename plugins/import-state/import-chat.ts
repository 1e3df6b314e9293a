import {
  type NewMessage,
  type SessionRef,
  type SessionsService,
  sessionNameLimits,
  violatedNameRule,
} from 'mortise/contracts/sessions';
import { isJsonObject, isUnstorableText, type JsonObject, MortiseError } from 'mortise/sdk';

interface ImportedChat {
  /** Number of messages. */
  readonly stored: number;
  /** Why messages were left out, and how many: one sentence per reason. */
  readonly skipped: readonly string[];
}

/**
 * Saves a chat and appends its history. The default chat keeps its own session, and the history goes there too.
 *
 * @throws MortiseError `invalid_chat`, `invalid_history`, `chat_exists` for a chat that has messages, `session_busy`
 */
export async function importChat(
  sessions: SessionsService,
  id: string,
  chat: unknown,
  history: unknown,
): Promise<ImportedChat> {
  const { name, meta, session } = readChat(id, chat);
  const { messages, skipped } = readHistory(history);
  const known = await sessions.getChat(id);
  if (known && (await sessions.display({ chatId: id }, { limit: 1 })).messages.length > 0) {
    throw new MortiseError('chat_exists', 'it is there already, with messages', { status: 409 });
  }
  const saved = await sessions.saveChat({
    id,
    session,
    ...(isName(name) ? { name } : {}),
    ...(isJsonObject(meta) ? { meta } : {}),
  });
  if (messages.length === 0) return { stored: 0, skipped };
  const written = await sessions.withLease(saved.session, (lease) => lease.append(messages));
  if (written === null) throw new MortiseError('session_busy', 'its session has a running turn', { status: 409 });
  return { stored: messages.length, skipped };
}

function readChat(id: string, chat: unknown): { name: unknown; meta: unknown; session: SessionRef } {
  const { name, meta, session_id, user_id, channel } = isJsonObject(chat) ? chat : ({} as JsonObject);
  if (!isName(session_id) || !isName(user_id) || !isName(channel)) {
    throw new MortiseError('invalid_chat', 'session_id, user_id, channel are required', { status: 400 });
  }
  const session = { sessionId: session_id, userId: user_id, channel: channel.trim().toLowerCase() };
  checkName('id', id, 128);
  checkName('session_id', session.sessionId, sessionNameLimits.sessionId);
  checkName('user_id', session.userId, sessionNameLimits.userId);
  checkName('channel', session.channel, sessionNameLimits.channel);
  return { name, meta, session };
}

function checkName(member: string, value: string, limit: number): void {
  const rule = violatedNameRule(value, limit);
  if (rule !== undefined) throw new MortiseError('invalid_chat', `${member} ${rule}`, { status: 400 });
}

function readHistory(history: unknown): { messages: readonly NewMessage[]; skipped: readonly string[] } {
  const list = history ?? [];
  if (!Array.isArray(list)) throw new MortiseError('invalid_history', 'its history must be a list', { status: 400 });
  const messages: NewMessage[] = [];
  const skipped = new Map<string, number>();
  for (const given of list) {
    const message = messageOf(given);
    if (typeof message === 'string') skipped.set(message, (skipped.get(message) ?? 0) + 1);
    else messages.push(message);
  }
  return { messages, skipped: [...skipped].map(([reason, count]) => `${count} left out: ${reason}`) };
}

const roles = ['user', 'assistant', 'system'] as const;

/** A message with its text, or the reason why there is none: calls of tools have no form here that a model could use. */
function messageOf(message: unknown): NewMessage | string {
  if (!isJsonObject(message)) return 'not an object';
  const role = roles.find((one) => one === message.role);
  if (role === undefined)
    return message.role === 'tool' ? 'results of tools' : 'the role is not user, assistant or system';
  const content = textOf(message.content);
  if (content.trim() === '') return 'without text';
  return isUnstorableText(content) ? 'the text has characters that cannot be stored' : { role, content };
}

/** The text of a message: a plain text, or the texts among its parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content : [];
  return parts.flatMap((part) => (isJsonObject(part) && typeof part.text === 'string' ? [part.text] : [])).join('\n');
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
