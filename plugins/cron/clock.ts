import type { Database, ScheduleService } from 'mortise/sdk';

/** The time that slots and leases are compared with. */
export interface Clock {
  /** Epoch milliseconds: the database's clock where several machines share it. */
  now(): number;
  /** Milliseconds that never go back. */
  monotonic(): number;
}

/** A clock that follows the database's; on SQLite it is the process's own. */
export class DatabaseClock implements Clock {
  readonly #database: Database;
  readonly #schedule: ScheduleService;
  #offset = 0;

  constructor(database: Database, schedule: ScheduleService) {
    this.#database = database;
    this.#schedule = schedule;
  }

  now(): number {
    return this.#schedule.now() + this.#offset;
  }

  monotonic(): number {
    return this.#schedule.monotonic();
  }

  /** Compares the clocks; the answer was read in the middle of the round trip. */
  async sample(): Promise<void> {
    if (this.#database.dialect === 'sqlite') return;
    const [before, from] = [this.#schedule.now(), this.#schedule.monotonic()];
    const { rows } = await this.#database.statement<{ now: number }>(`select ${this.#database.now.millis} as now`);
    const roundTrip = this.#schedule.monotonic() - from;
    if (rows[0]) this.#offset = Number(rows[0].now) - (before + roundTrip / 2);
  }
}
