import type { SessionRef } from 'mortise/contracts/sessions';

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

let last = 0n;

/**
 * `<prefix>-<19-digit unix nanoseconds>`, strictly increasing in this process. The wall clock has only milliseconds;
 * the digits below come from the monotonic clock, which keeps two processes apart. Primary keys catch the rest.
 */
export function newId(prefix: 'chat' | 'msg' | 'turn'): string {
  const now = BigInt(Date.now()) * 1_000_000n + (process.hrtime.bigint() % 1_000_000n);
  last = now > last ? now : last + 1n;
  return `${prefix}-${last}`;
}
