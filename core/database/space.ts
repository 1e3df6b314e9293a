import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Database } from '../sdk/host/database.js';
import { databaseError } from './errors.js';

/** Delay of a trial after a write was refused for lack of space, and after each failed trial. */
const trialAfterMs = 5_000;

/** With less than this the next larger write is refused, while a heartbeat still fits. */
const minFreeBytes = 1_048_576;

interface SpaceTrials {
  /** Writes and commits something that needs `minFreeBytes`. */
  attempt(): Promise<unknown>;
  /** Called when there is space again. */
  regained(): void;
  /** Milliseconds before a trial; 5,000 when absent. */
  readonly afterMs?: number | undefined;
}

/** Whether there is space for more than the few bytes that a full database still accepts. */
export class SpaceWatch {
  readonly #trials: SpaceTrials;
  readonly #afterMs: number;
  #full = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  /** How many writes were refused: one that is refused during a trial counts for more than the trial. */
  #refusals = 0;

  constructor(trials: SpaceTrials) {
    this.#trials = trials;
    this.#afterMs = trials.afterMs ?? trialAfterMs;
  }

  /** A write was refused for lack of space. Trials follow, because small writes may still succeed. */
  refused(): void {
    this.#refusals += 1;
    if (this.#full || this.#closed) return;
    this.#full = true;
    this.#tryLater();
  }

  /**
   * @param file the SQLite file, to check its disk
   * @throws MortiseError `database_full`
   */
  async check(file: string | undefined): Promise<void> {
    if (this.#full) throw databaseError('database_full');
    if (file === undefined || file === ':memory:') return;
    const free = await statfs(dirname(file)).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => undefined,
    );
    if (free !== undefined && free < minFreeBytes) throw databaseError('database_full');
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #tryLater(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#try(), this.#afterMs).unref();
  }

  async #try(): Promise<void> {
    const before = this.#refusals;
    const written = await this.#trials.attempt().then(
      () => true,
      () => false,
    );
    if (!written || this.#refusals > before) return this.#tryLater();
    this.#full = false;
    this.#trials.regained();
  }
}

/**
 * Writes as much as should be free, into a table of its own that is gone afterwards: what a trial takes of the last
 * space is given back, whether it fits or not.
 */
export async function writeMuch(database: Database): Promise<void> {
  const { dialect } = database;
  const kind = dialect === 'postgres' ? 'unlogged table' : 'table';
  const drop = 'drop table if exists {mortise.space_trial}';
  await database.transaction(async (trx) => {
    await database.statement(drop, [], { trx });
    await database.statement(`create ${kind} {mortise.space_trial} (filler text)`, [], { trx });
    // Random, because PostgreSQL compresses repeated data.
    const filler = randomBytes((minFreeBytes / 4) * 3).toString('base64');
    await database.statement('insert into {mortise.space_trial} (filler) values (?)', [filler], { trx });
    // PostgreSQL allocates a table's space immediately, SQLite at the commit.
    if (dialect === 'postgres') await database.statement(drop, [], { trx });
  });
  if (dialect === 'sqlite') await database.statement(drop);
}
