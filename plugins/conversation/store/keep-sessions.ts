import type { StartHost } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import type { LiveSession } from '../live-session.js';
import type { LiveSessions } from '../live-sessions.js';
import { sessionStatesTable } from '../migrations/0001-session-states.js';
import { SessionStore } from './session-store.js';

export interface KeptSessions {
  readonly changed: (session: LiveSession) => void;
  readonly forgotten: (key: string) => void;
  /** Takes over what an earlier process has left. A database that fails is given up: the rest is in memory. */
  restore(live: LiveSessions): Promise<void>;
  close(): Promise<void>;
}

/** What is known of sessions, in the database of the platform. */
export function sessionStoreOf(host: StartHost<Config>): KeptSessions {
  const database = host.use('database');
  const schedule = host.use('schedule');
  let given = false;
  const gaveUp = (error: unknown): void => {
    given = true;
    host.log.warn({ error: error instanceof Error ? error.name : 'error' }, 'the states of sessions are not stored');
    host.emit('alert', {
      source: 'conversation:persistence',
      severity: 'medium',
      code: 'gate_persistence_off',
      message: 'The database failed: the states of sessions are in memory until it is started again.',
      data: { table: 'gate.session_states' },
    });
  };
  const store = new SessionStore(database, gaveUp);
  return {
    changed: (session) => {
      if (!given) store.changed(session);
    },
    forgotten: (key) => {
      if (!given) store.forgotten(key);
    },
    async restore(live) {
      try {
        await database.migrate([sessionStatesTable]);
        live.restore(await store.load(schedule.now() - host.config.idleTtlSeconds * 1_000));
      } catch (error) {
        gaveUp(error);
      }
    },
    close: () => store.close(),
  };
}
