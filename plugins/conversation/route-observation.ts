import type { Observation, SessionsService } from 'mortise/sdk';

/** Where everything of the platform itself is handled. */
export const systemSession = 'system';

/** The source of what goes to every session at once. */
export const fanOutSource = 'core:fanout';

export interface Routing {
  /** Where a message without a session goes: to one session per user, or to one for all. */
  readonly mode: 'user' | 'default';
  readonly sessions: Pick<SessionsService, 'key' | 'parseKey'>;
  /** Channels that are there now; `ws` is the realtime socket. */
  readonly channels: () => readonly string[];
}

/** The key of the inbox that takes an observation. Messages always get a canonical session key. */
export function routeObservation(observation: Observation, routing: Routing): string {
  const { obs_type: type, session_key: key, actor } = observation;
  if (type === 'system' && observation.source_name === fanOutSource && key !== undefined) return key;
  if (type !== 'message' && type !== 'world_data') return systemSession;
  if (type === 'world_data') return key === undefined ? systemSession : canonical(key, actor?.actor_id, routing);
  return canonical(key ?? keyless(actor?.actor_id, routing.mode), actor?.actor_id, routing);
}

function keyless(actorId: string | undefined, mode: Routing['mode']): string {
  if (mode === 'default' || actorId === undefined) return 'default';
  return `user:${actorId.replaceAll('%', '%25').replaceAll(':', '%3A')}`;
}

/** A key that names a session of a known channel stays; any other is a console session of that name. */
function canonical(key: string, actorId: string | undefined, { sessions, channels }: Routing): string {
  const session = sessions.parseKey(key);
  if (session && (session.channel === 'ws' || channels().includes(session.channel))) return key;
  return sessions.key({ channel: 'console', userId: actorId ?? 'unknown', sessionId: key });
}
