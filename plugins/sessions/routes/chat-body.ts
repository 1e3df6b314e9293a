import { type SessionRef, sessionNameLimits, violatedNameRule } from 'mortise/contracts/sessions';
import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { sessionError } from '../errors.js';

interface ChatBody {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly session: SessionRef;
  readonly meta: JsonObject;
}

/** The body of a chat upsert. Unknown members are ignored; a known one of another type makes the body invalid. */
export function readChatBody(body: unknown): ChatBody {
  if (!isJsonObject(body)) throw sessionError('invalid_json');
  const id = text(body, 'id');
  const session = {
    channel: (text(body, 'channel') ?? '').trim().toLowerCase(),
    userId: text(body, 'user_id') ?? '',
    sessionId: text(body, 'session_id') ?? '',
  };
  if (Object.values(session).some((part) => part.trim() === '')) throw sessionError('invalid_chat');
  checkName('channel', session.channel, sessionNameLimits.channel);
  checkName('user_id', session.userId, sessionNameLimits.userId);
  checkName('session_id', session.sessionId, sessionNameLimits.sessionId);
  if (id !== undefined && id !== '') checkName('id', id, 128);
  const { meta } = body;
  if (meta !== undefined && meta !== null && !isJsonObject(meta)) throw sessionError('invalid_json');
  return { id: id === '' ? undefined : id, name: text(body, 'name'), session, meta: meta ?? {} };
}

/** A list of chat ids. */
export function readIds(body: unknown): readonly string[] {
  if (!Array.isArray(body) || !body.every((id) => typeof id === 'string')) throw sessionError('invalid_json');
  return [...new Set<string>(body)];
}

function checkName(member: string, value: string, limit: number): void {
  const rule = violatedNameRule(value, limit);
  if (rule !== undefined) throw sessionError('invalid_chat', { message: `${member} ${rule}` });
}

function text(body: JsonObject, member: string): string | undefined {
  const value = body[member];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw sessionError('invalid_json');
  return value;
}
