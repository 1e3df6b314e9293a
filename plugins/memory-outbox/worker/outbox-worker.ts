import { createSettler, type Settler } from '../flush/create-settler.js';
import type { OutboxParts } from '../parts.js';
import { markTwins, type WaitingAttempt } from './find-duplicates.js';
import { RowLeases } from './row-leases.js';
import { addTally, emptyTally, type Tally } from './tally.js';
import { workRows } from './work-rows.js';

/** Batches that a backend which takes many is kept busy with: they share the commits of claiming and settling. */
const GROUPS_AHEAD = 4;

/** Rows that are sent together. */
interface Work {
  readonly attempts: readonly WaitingAttempt[];
  /** The backend may still be at work on them; afterwards they wait to be written down. */
  isCalling: boolean;
}

/**
 * Claims rows and delivers them, several at a time, in the order they were claimed. Rows of the same memory are never
 * in work at once. All of its rows are renewed while it holds them; one that cannot be is let go, and is not sent.
 */
export class OutboxWorker {
  readonly total: Tally = emptyTally();
  readonly #parts: OutboxParts;
  readonly #workerId: string;
  readonly #settler: Settler;
  readonly #leases: RowLeases;
  readonly #working = new Map<Work, Promise<void>>();
  #queue: WaitingAttempt[] = [];
  /** The backend takes a batch at once. */
  #isGrouped = false;
  #isStopping = false;
  #isWoken = false;
  #goOn: () => void = () => {};
  #looping: Promise<void> | undefined;

  constructor(parts: OutboxParts, workerId: string) {
    this.#parts = parts;
    this.#workerId = workerId;
    this.#settler = createSettler(parts);
    this.#leases = new RowLeases(parts, workerId);
  }

  /** Delivers one batch. */
  async runOnce(): Promise<Tally> {
    await this.#claim(1);
    while (this.#queue.length > 0 || this.#working.size > 0) {
      this.#start();
      if (this.#working.size === 0) break;
      await Promise.race(this.#working.values());
    }
    this.#leases.rest();
    return this.total;
  }

  /** Delivers until it is stopped, and looks at least so often. */
  start(everyMs: number): void {
    this.#looping ??= this.#loop(everyMs);
  }

  /** There may be rows. */
  wake(): void {
    this.#isWoken = true;
    this.#goOn();
  }

  /** Claims no more, gives back what it has not begun, and lets what it has begun finish for so long. */
  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true;
    this.wake();
    await this.#release();
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs);
    });
    await Promise.race([this.#looping, limit]);
    await Promise.race([Promise.all(this.#working.values()), limit]);
    clearTimeout(timer);
    this.#leases.close();
  }

  async #loop(everyMs: number): Promise<void> {
    while (!this.#isStopping) {
      let claimed = 0;
      try {
        if (this.#hasRoom() && this.#canHoldMore()) claimed = await this.#claim(GROUPS_AHEAD);
        this.#start();
      } catch (error) {
        this.#parts.log.warn({ err: error }, 'The outbox cannot be read at the moment.');
      }
      if (claimed === 0 || !this.#hasRoom()) await this.#pause(everyMs);
    }
    await this.#release();
  }

  #hasRoom(): boolean {
    const calls = [...this.#working.keys()].filter(({ isCalling }) => isCalling).length;
    return calls < this.#parts.config.concurrency;
  }

  #canHoldMore(): boolean {
    const batches = this.#isGrouped ? GROUPS_AHEAD : 1;
    return this.#queue.length === 0 && this.#held().length < this.#parts.config.batch_size * batches;
  }

  /** Every row that the worker answers for: it waits, is being sent, or is being written down. */
  #held(): readonly WaitingAttempt[] {
    return [...this.#queue, ...[...this.#working.keys()].flatMap(({ attempts }) => attempts)];
  }

  /** Until something is done, somebody says that there may be rows, or it is time. */
  async #pause(ms: number): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#goOn = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isWoken = false;
  }

  /**
   * A backend that is not called gets nothing; one that is being tried gets one row.
   *
   * @param groups how many batches, for a backend that takes many at once
   */
  async #claim(groups: number): Promise<number> {
    const { config, memory } = this.#parts;
    const { circuit } = memory.status();
    if (this.#isStopping || circuit === 'open') return 0;
    this.#isGrouped = await memory.takesMany().catch(() => false);
    const size = circuit === 'half_open' ? 1 : config.batch_size * (this.#isGrouped ? groups : 1);
    const attempts = await this.#leases.claim(size, this.#held());
    addTally(this.total, { claimed: attempts.length });
    this.#queue.push(...markTwins(this.#held(), attempts));
    return attempts.length;
  }

  #start(): void {
    while (this.#hasRoom()) {
      const attempts = this.#take();
      if (attempts.length === 0) return;
      const work = { attempts, isCalling: true };
      this.#working.set(work, this.#work(work));
    }
  }

  /** The next rows whose memory is not in work: one, or a batch of them for a backend that takes many. */
  #take(): readonly WaitingAttempt[] {
    const busy = new Set([...this.#working.keys()].flatMap(({ attempts }) => attempts.map(({ key }) => key)));
    const taken: WaitingAttempt[] = [];
    for (const attempt of this.#queue) {
      if (busy.has(attempt.key)) continue;
      taken.push(attempt);
      if (!this.#isGrouped || taken.length === this.#parts.config.batch_size) break;
      busy.add(attempt.key);
    }
    const isTaken = new Set(taken);
    this.#queue = this.#queue.filter((attempt) => !isTaken.has(attempt));
    return taken;
  }

  async #work(work: Work): Promise<void> {
    const called = (): void => {
      work.isCalling = false;
      this.wake();
    };
    const workshop = { parts: this.#parts, settler: this.#settler, leases: this.#leases, called };
    const tally = await workRows(work.attempts, workshop);
    addTally(this.total, tally);
    this.#leases.drop(work.attempts);
    this.#working.delete(work);
    this.wake();
  }

  async #release(): Promise<void> {
    const rows = this.#queue.map(({ row }) => row);
    this.#leases.drop(this.#queue);
    this.#queue = [];
    try {
      await this.#parts.logbook.outbox.releaseLeases(rows, this.#workerId);
    } catch (error) {
      this.#parts.log.warn({ err: error, rows: rows.length }, 'Leases could not be given back and will run out.');
    }
  }
}
