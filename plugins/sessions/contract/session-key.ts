import type { SessionRef } from './sessions.js';

const encode = (part: string): string => part.replaceAll('%', '%25').replaceAll(':', '%3A');
const decode = (part: string): string => part.replaceAll('%3A', ':').replaceAll('%25', '%');

/**
 * The key of a session: `channel:user:session`, with `%` and `:` of the first two parts escaped. Injective: no two
 * sessions have the same key.
 */
export function sessionKey(session: SessionRef): string {
  return `${encode(session.channel)}:${encode(session.userId)}:${session.sessionId}`;
}

/** The parts of a key that {@link sessionKey} made; undefined for any other text. */
export function parseSessionKey(key: string): SessionRef | undefined {
  const first = key.indexOf(':');
  const second = key.indexOf(':', first + 1);
  if (first < 1 || second < 0) return undefined;
  const session = {
    channel: decode(key.slice(0, first)),
    userId: decode(key.slice(first + 1, second)),
    sessionId: key.slice(second + 1),
  };
  return session.userId !== '' && session.sessionId !== '' && sessionKey(session) === key ? session : undefined;
}

/**
 * The name of a session as callers give it: its id within the user's sessions of the console, where a message that names a
 * session by anything but a key is routed. Undefined for other sessions.
 */
export function consoleSessionName(key: string): string | undefined {
  if (!key.startsWith('console:')) return undefined;
  return parseSessionKey(key)?.sessionId;
}
