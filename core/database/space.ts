import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { databaseError } from './errors.js';

/** A write that was refused for want of space is remembered for so long: nothing tells when there is space again. */
const rememberedMs = 60_000;

/** With less than this beside a SQLite file the next larger write is refused, while a heartbeat still finds a place. */
const leastFreeBytes = 1_048_576;

/** Whether there is space for more than the few bytes that a full database still takes. */
export class SpaceWatch {
  readonly #now: () => number;
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A write was refused for want of space. */
  refused(): void {
    this.#refusedAt = this.#now();
  }

  /**
   * @param file the SQLite file, to look at its disk
   * @throws MortiseError `database_full`
   */
  async check(file: string | undefined): Promise<void> {
    if (this.#now() - this.#refusedAt < rememberedMs) throw databaseError('database_full');
    if (file === undefined || file === ':memory:') return;
    const free = await statfs(dirname(file)).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => undefined,
    );
    if (free !== undefined && free < leastFreeBytes) throw databaseError('database_full');
  }
}
