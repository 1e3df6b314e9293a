import type { SessionsService } from 'mortise/contracts/sessions';
import type { ObservationError, ObservationType } from 'mortise/sdk';
import { controlCharacters } from './read-members.js';

/** The session that handles the platform's own observations. */
export const systemSession = 'system';

/** The source of observations that are broadcast to every session. */
export const fanOutSource = 'core:fanout';

export interface Routing {
  /** The session of a message without one: one per user, or one for all. */
  readonly mode: 'user' | 'default';
  readonly sessions: Pick<SessionsService, 'key' | 'parseKey'>;
  /** Whether a channel is active; `ws`, the realtime socket, is always known. */
  readonly hasChannel: (name: string) => boolean;
}

/** The facts that decide the session of an observation. */
export interface RouteFacts {
  readonly type: ObservationType;
  readonly source: string;
  /** As given. */
  readonly key: string | undefined;
  readonly actorId: string | undefined;
}

/** Code points of the parts of a session key, the same limits as at every other entry point. */
const limits = { userId: 128, sessionId: 256 } as const;

/**
 * Returns the session key of an observation, or the error that makes it unroutable. Messages always get the canonical key
 * of a session in which a turn can run.
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
  // No part of such a short key can be too long.
  if (key.length <= limits.userId && (actorId === undefined || !controlCharacters.test(actorId))) return key;
  const session = routing.sessions.parseKey(key);
  const path = given === undefined || session?.userId === actorId ? 'actor.actor_id' : 'session_key';
  if (!session) return problem('session_key', 'payload_mismatch', 'session_key must name a session');
  if (controlCharacters.test(session.userId)) {
    return problem(path, 'payload_mismatch', `${path} must not have control characters`);
  }
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

/** Keeps a key that names a session of a known channel; any other becomes a console session of that name. */
function canonical(key: string, actorId: string | undefined, { sessions, hasChannel }: Routing): string {
  const session = sessions.parseKey(key);
  if (session && (session.channel === 'ws' || hasChannel(session.channel))) return key;
  return sessions.key({ channel: 'console', userId: actorId ?? 'unknown', sessionId: key });
}
