import { type Database, type InsertTarget, insertRows, jsonTexts, type StartHost, WriteBehind } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import type { LiveSession, SessionRecord } from './live-session.js';
import type { LiveSessions } from './live-sessions.js';
import { sessionStatesTable } from './migrations/0001-session-states.js';

const target: InsertTarget = {
  table: 'gate.session_states',
  columns: ['session_key', 'created_at', 'last_active_at', 'processed_total', 'error_total'],
  suffix: `on conflict (session_key) do update set created_at = excluded.created_at,
    last_active_at = excluded.last_active_at, processed_total = excluded.processed_total,
    error_total = excluded.error_total`,
};

/** The longest key that a PostgreSQL index holds, bytes; sessions with a longer one are in memory only. */
const keyLimit = 2_000;
/** Sessions restored at start, the most recently active ones. */
const loadLimit = 100_000;

/** A session whose current state is to be written, or a key to be deleted. */
type Change = LiveSession | { readonly deleted: string };

/**
 * Stores the counters and times of sessions write-behind: no observation waits for the database. After repeated failures
 * it raises an alert and stops storing.
 */
export class SessionStore {
  readonly #host: StartHost<Config>;
  readonly #database: Database;
  readonly #writes: WriteBehind<Change>;
  #off = false;

  constructor(host: StartHost<Config>) {
    this.#host = host;
    this.#database = host.use('database');
    this.#writes = new WriteBehind({
      write: (changes) => this.#write(changes),
      gaveUp: (error) => this.#turnOff(error),
    });
  }

  changed(session: LiveSession): void {
    if (this.#off || session.key.length > keyLimit || Buffer.byteLength(session.key) > keyLimit) return;
    this.#writes.set(session.key, session);
  }

  deleted(key: string): void {
    if (!this.#off) this.#writes.set(key, { deleted: key });
  }

  /** Loads sessions that an earlier process stored and that are not idle for too long. */
  async restore(live: LiveSessions): Promise<void> {
    const since = this.#host.use('schedule').now() - this.#host.config.idleTtlSeconds * 1_000;
    try {
      await this.#database.migrate([sessionStatesTable]);
      live.restore(await this.#load(since));
    } catch (error) {
      this.#turnOff(error);
    }
  }

  close(): Promise<void> {
    return this.#writes.close();
  }

  /** Loads sessions active since `since` (epoch milliseconds) and deletes the others, as the idle sweep would have. */
  async #load(since: number): Promise<readonly SessionRecord[]> {
    await this.#database.statement('delete from {gate.session_states} where coalesce(last_active_at, created_at) < ?', [
      since,
    ]);
    const { rows } = await this.#database.statement<SessionRecord>(
      `select session_key, created_at, last_active_at, processed_total, error_total from {gate.session_states}
       order by coalesce(last_active_at, created_at) desc limit ?`,
      [loadLimit],
    );
    return rows;
  }

  async #write(changes: readonly Change[]): Promise<void> {
    const deleted = changes.flatMap((change) => ('deleted' in change ? [change.deleted] : []));
    if (deleted.length > 0) {
      await this.#database.statement(
        `delete from {gate.session_states} where session_key in ${jsonTexts(this.#database.dialect)}`,
        [JSON.stringify(deleted)],
      );
    }
    const rows = changes.flatMap((change) =>
      'deleted' in change ? [] : [[change.key, change.createdAt, change.lastActiveAt, change.processed, change.errors]],
    );
    await insertRows(this.#database, target, rows);
  }

  #turnOff(error: unknown): void {
    this.#off = true;
    this.#host.log.warn({ error: error instanceof Error ? error.name : 'error' }, 'session states are not stored');
    this.#host.emit('alert', {
      source: 'conversation:persistence',
      severity: 'medium',
      code: 'gate_persistence_off',
      message: 'The database failed: session states are in memory only until the plugin is restarted.',
      data: { table: 'gate.session_states' },
    });
  }
}
