import type { SessionsService } from 'mortise/contracts/sessions';
import type { ObservationError, ObservationType } from 'mortise/sdk';

/** Where everything of the platform itself is handled. */
export const systemSession = 'system';

/** The source of what goes to every session at once. */
export const fanOutSource = 'core:fanout';

export interface Routing {
  /** Where a message without a session goes: to one session per user, or to one for all. */
  readonly mode: 'user' | 'default';
  readonly sessions: Pick<SessionsService, 'key' | 'parseKey'>;
  /** Whether a channel is there now; `ws` is the realtime socket. */
  readonly hasChannel: (name: string) => boolean;
}

/** What decides where an observation goes. */
export interface RouteFacts {
  readonly type: ObservationType;
  readonly source: string;
  /** As given. */
  readonly key: string | undefined;
  readonly actorId: string | undefined;
}

/** Code points of the parts of a session, as every door has it. */
const limits = { userId: 128, sessionId: 256 } as const;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const controlCharacters = /[\u0000-\u001f\u007f]/;

/**
 * The key of the inbox that takes an observation, or why no session can take it. Messages always get a canonical session
 * key, of a session that a turn can have.
 */
export function routeObservation(
  { type, source, key, actorId }: RouteFacts,
  routing: Routing,
): string | ObservationError {
  if (type === 'message') return sessionOf(key, actorId, routing);
  if (type === 'world_data') return key === undefined ? systemSession : canonical(key, actorId, routing);
  if (type === 'system' && source === fanOutSource && key !== undefined) return key;
  return systemSession;
}

function sessionOf(
  given: string | undefined,
  actorId: string | undefined,
  routing: Routing,
): string | ObservationError {
  const key = canonical(given ?? keyless(actorId, routing.mode), actorId, routing);
  // No part of a key this short can be too long.
  if (key.length <= limits.userId && (actorId === undefined || !controlCharacters.test(actorId))) return key;
  const session = routing.sessions.parseKey(key);
  const path = given === undefined || session?.userId === actorId ? 'actor.actor_id' : 'session_key';
  if (!session) return problem('session_key', 'payload_mismatch', 'session_key must name a session');
  if (controlCharacters.test(session.userId))
    return problem(path, 'payload_mismatch', `${path} must not have control characters`);
  if (isLonger(session.userId, limits.userId)) {
    return problem(path, 'too_long', `the user of a message must have at most ${limits.userId} characters`);
  }
  if (!isLonger(session.sessionId, limits.sessionId)) return key;
  const part = given === undefined ? 'actor.actor_id' : 'session_key';
  return problem(part, 'too_long', `the session of a message must have at most ${limits.sessionId} characters`);
}

function problem(path: string, code: ObservationError['code'], message: string): ObservationError {
  return { path, code, message };
}

function isLonger(text: string, limit: number): boolean {
  return text.length > limit && [...text].length > limit;
}

function keyless(actorId: string | undefined, mode: Routing['mode']): string {
  if (mode === 'default' || actorId === undefined) return 'default';
  return `user:${actorId.replaceAll('%', '%25').replaceAll(':', '%3A')}`;
}

/** A key that names a session of a known channel stays; any other is a console session of that name. */
function canonical(key: string, actorId: string | undefined, { sessions, hasChannel }: Routing): string {
  const session = sessions.parseKey(key);
  if (session && (session.channel === 'ws' || hasChannel(session.channel))) return key;
  return sessions.key({ channel: 'console', userId: actorId ?? 'unknown', sessionId: key });
}
