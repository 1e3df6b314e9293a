import type { SessionRef } from 'mortise/contracts/sessions';
import { isJsonObject, isUnstorableText, type JsonObject } from 'mortise/sdk';
import { sessionError } from '../errors.js';

export interface ChatBody {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly session: SessionRef;
  readonly meta: JsonObject;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const controlCharacters = /[\u0000-\u001f\u007f]/;

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
  bounded('channel', session.channel, 64);
  bounded('user_id', session.userId, 128);
  bounded('session_id', session.sessionId, 256);
  if (id !== undefined && id !== '') bounded('id', id, 128);
  const { meta } = body;
  if (meta !== undefined && meta !== null && !isJsonObject(meta)) throw sessionError('invalid_json');
  return { id: id === '' ? undefined : id, name: text(body, 'name'), session, meta: meta ?? {} };
}

/** A list of chat ids. */
export function readIds(body: unknown): readonly string[] {
  if (!Array.isArray(body) || !body.every((id) => typeof id === 'string')) throw sessionError('invalid_json');
  return [...new Set<string>(body)];
}

function bounded(member: string, value: string, limit: number): void {
  if (controlCharacters.test(value) || (value.length > limit && [...value].length > limit)) {
    throw sessionError('invalid_chat', {
      message: `${member} must have at most ${limit} characters and no control characters`,
    });
  }
  // A database would store it as another name, the same one for many.
  if (isUnstorableText(value)) {
    throw sessionError('invalid_chat', { message: `${member} must not have lone surrogates` });
  }
}

function text(body: JsonObject, member: string): string | undefined {
  const value = body[member];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw sessionError('invalid_json');
  return value;
}
