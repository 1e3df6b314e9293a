import { type Database, type InsertTarget, insertRows } from 'mortise/sdk';

export type ControlAction = 'suggest' | 'admin_set' | 'admin_clear' | 'expire' | 'release' | 'cooldown_clear';

export interface ControlEntry {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly action: ControlAction;
  readonly actor: string | null;
  readonly originSessionKey: string | null;
  readonly overrideKey: string | null;
  readonly oldValue: unknown;
  readonly newValue: unknown;
  readonly accepted: boolean;
  readonly reason: string | null;
  readonly ttlSec: number | null;
  /** Epoch milliseconds. */
  readonly expiresAt: number | null;
  readonly obsId: string | null;
  readonly traceId: string | null;
  readonly correlationId: string | null;
}

const queueLimit = 1_000;
/** How long a store that failed is left alone, milliseconds. */
const retryMs = 1_000;

const target: InsertTarget = {
  table: 'gate.control_audit',
  columns: [
    'at',
    'action',
    'actor',
    'origin_session_key',
    'override_key',
    'old_value',
    'new_value',
    'accepted',
    'reason',
    'ttl_sec',
    'expires_at',
    'obs_id',
    'trace_id',
    'correlation_id',
  ],
};

/**
 * Writes rows behind the changes they tell of, in order: a change does not wait for the database. While the store is
 * down rows are kept, up to a limit beyond which {@link room} refuses changes: none goes without its row.
 */
export class ControlAudit {
  readonly #database: Database;
  readonly #failed: (error: unknown) => void;
  #waiting: ControlEntry[] = [];
  #writing: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(database: Database, failed: (error: unknown) => void) {
    this.#database = database;
    this.#failed = failed;
  }

  room(rows: number): boolean {
    return this.#waiting.length + rows <= queueLimit;
  }

  add(entry: ControlEntry): void {
    this.#waiting.push(entry);
    if (this.#retry === undefined) this.#write();
  }

  /** Resolves when all rows are written, or one more try has failed. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#writing;
    if (this.#waiting.length > 0) await this.#writeOnce().catch(this.#failed);
  }

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeAll(): Promise<void> {
    // Leaves the caller first: several rows of one change are one statement.
    await null;
    try {
      while (this.#waiting.length > 0) await this.#writeOnce();
    } catch (error) {
      this.#failed(error);
      if (this.#closed) return;
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.#write();
      }, retryMs);
      this.#retry.unref();
    }
  }

  async #writeOnce(): Promise<void> {
    const batch = this.#waiting.slice(0, 100);
    const rows = batch.map((entry) => [
      entry.at,
      entry.action,
      entry.actor,
      entry.originSessionKey,
      entry.overrideKey,
      json(entry.oldValue),
      json(entry.newValue),
      entry.accepted,
      entry.reason,
      entry.ttlSec,
      entry.expiresAt,
      entry.obsId,
      entry.traceId,
      entry.correlationId,
    ]);
    await insertRows(this.#database, target, rows);
    this.#waiting = this.#waiting.slice(batch.length);
  }
}

function json(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
