import type { Database, ScheduleService } from 'mortise/sdk';

/** The time that slots and leases are compared with. */
export interface Clock {
  /** Epoch milliseconds: the database's clock where several machines share it. */
  now(): number;
  /** Monotonic milliseconds. */
  monotonic(): number;
}

/**
 * The time of slots in a running process. On SQLite it is the process's own clock. On PostgreSQL it is the database's, read
 * now and then and continued by the monotonic clock, so that a process whose clock is set claims neither early nor late.
 */
export class DatabaseClock implements Clock {
  readonly #database: Database;
  readonly #schedule: ScheduleService;
  /** What to add to the monotonic clock; undefined on SQLite. */
  #offset: number | undefined;

  constructor(database: Database, schedule: ScheduleService) {
    this.#database = database;
    this.#schedule = schedule;
  }

  now(): number {
    return this.#offset === undefined ? this.#schedule.now() : this.#schedule.monotonic() + this.#offset;
  }

  monotonic(): number {
    return this.#schedule.monotonic();
  }

  /** Reads the database's clock; the answer was made in the middle of the round trip. */
  async sample(): Promise<void> {
    if (this.#database.dialect === 'sqlite') return;
    const from = this.#schedule.monotonic();
    const { rows } = await this.#database.statement<{ now: number }>(`select ${this.#database.now.millis} as now`);
    const middle = (from + this.#schedule.monotonic()) / 2;
    if (rows[0]) this.#offset = Number(rows[0].now) - middle;
  }
}
