import type { SessionRef } from 'mortise/contracts/sessions';

const encode = (part: string): string => part.replaceAll('%', '%25').replaceAll(':', '%3A');
const decode = (part: string): string => part.replaceAll('%3A', ':').replaceAll('%25', '%');

/**
 * The one name of a session: `channel:user:session`, with `%` and `:` of the first two parts escaped. Injective, so
 * that no key can be forged from the parts of another.
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
