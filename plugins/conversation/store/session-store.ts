import { type Database, type InsertTarget, insertRows, jsonTexts, WriteBehind } from 'mortise/sdk';
import type { LiveSession, SessionRecord } from '../live-session.js';

const target: InsertTarget = {
  table: 'gate.session_states',
  columns: ['session_key', 'created_at', 'last_active_at', 'processed_total', 'error_total'],
  suffix: `on conflict (session_key) do update set created_at = excluded.created_at,
    last_active_at = excluded.last_active_at, processed_total = excluded.processed_total,
    error_total = excluded.error_total`,
};

/** Longest key that an index of PostgreSQL holds, bytes; a session with a longer one is in memory alone. */
const keyLimit = 2_000;
/** Sessions that a start takes over, the most recently active ones. */
const loadLimit = 100_000;

/** A session to be written as it is by then, or to be forgotten. */
type Change = LiveSession | { readonly forget: string };

/** Keeps what is known of sessions in a table, some time behind: no observation waits for it. */
export class SessionStore {
  readonly #database: Database;
  readonly #writes: WriteBehind<Change>;

  constructor(database: Database, gaveUp: (error: unknown) => void) {
    this.#database = database;
    this.#writes = new WriteBehind({ write: (changes) => this.#write(changes), gaveUp });
  }

  changed(session: LiveSession): void {
    if (session.key.length <= keyLimit && Buffer.byteLength(session.key) <= keyLimit) {
      this.#writes.set(session.key, session);
    }
  }

  forgotten(key: string): void {
    this.#writes.set(key, { forget: key });
  }

  /** Sessions that were active since then (epoch milliseconds); older ones are removed, as the sweep would have done. */
  async load(since: number): Promise<readonly SessionRecord[]> {
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

  close(): Promise<void> {
    return this.#writes.close();
  }

  async #write(changes: readonly Change[]): Promise<void> {
    const forgotten = changes.flatMap((change) => ('forget' in change ? [change.forget] : []));
    if (forgotten.length > 0) {
      await this.#database.statement(
        `delete from {gate.session_states} where session_key in ${jsonTexts(this.#database.dialect)}`,
        [JSON.stringify(forgotten)],
      );
    }
    const rows = changes.flatMap((change) =>
      'forget' in change ? [] : [[change.key, change.createdAt, change.lastActiveAt, change.processed, change.errors]],
    );
    await insertRows(this.#database, target, rows);
  }
}
