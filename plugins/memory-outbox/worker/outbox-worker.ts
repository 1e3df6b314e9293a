import type { OutboxDeps } from '../outbox-deps.js';
import { addTally, emptyTally, type Tally } from './attempt.js';
import { markDuplicates, type WaitingAttempt } from './claim.js';
import { RowLeases } from './row-leases.js';
import { createSettler, type Settler } from './settle.js';
import { workRows } from './work-rows.js';

/** Batches claimed together for a backend that accepts many; they share the commits of claiming and settling. */
const BATCHES_AHEAD = 4;

/** Rows delivered together. */
interface Work {
  readonly attempts: readonly WaitingAttempt[];
  /** The backend call is running; afterwards the results are recorded. */
  isCalling: boolean;
}

/**
 * Claims rows and delivers them concurrently, in claim order. Rows with the same memory are never in progress together.
 * Leases are renewed while rows are held; a row whose lease is lost is dropped and not sent.
 */
export class OutboxWorker {
  readonly total: Tally = emptyTally();
  readonly #deps: OutboxDeps;
  readonly #workerId: string;
  readonly #settler: Settler;
  readonly #leases: RowLeases;
  readonly #working = new Map<Work, Promise<void>>();
  #queue: WaitingAttempt[] = [];
  /** The backend accepts batches. */
  #usesBatches = false;
  #isStopping = false;
  #isAwake = false;
  #resume: () => void = () => {};
  #looping: Promise<void> | undefined;

  constructor(deps: OutboxDeps, workerId: string) {
    this.#deps = deps;
    this.#workerId = workerId;
    this.#settler = createSettler(deps);
    this.#leases = new RowLeases(deps, workerId);
  }

  /** Delivers one batch. */
  async runOnce(): Promise<Tally> {
    await this.#claim(1);
    while (this.#queue.length > 0 || this.#working.size > 0) {
      this.#start();
      if (this.#working.size === 0) break;
      await Promise.race(this.#working.values());
    }
    this.#leases.pauseRenewal();
    return this.total;
  }

  /** Delivers until stopped, polling at least this often. */
  start(everyMs: number): void {
    this.#looping ??= this.#loop(everyMs);
  }

  /** Signals that rows may be due. */
  wake(): void {
    this.#isAwake = true;
    this.#resume();
  }

  /** Stops claiming, releases rows not started, and waits up to `limitMs` for rows in progress. */
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
        if (this.#hasRoom() && this.#canHoldMore()) claimed = await this.#claim(BATCHES_AHEAD);
        this.#start();
      } catch (error) {
        this.#deps.log.warn({ err: error }, 'the outbox cannot be read');
      }
      if (claimed === 0 || !this.#hasRoom()) await this.#pause(everyMs);
    }
    await this.#release();
  }

  #hasRoom(): boolean {
    const calls = [...this.#working.keys()].filter(({ isCalling }) => isCalling).length;
    return calls < this.#deps.config.concurrency;
  }

  #canHoldMore(): boolean {
    const batches = this.#usesBatches ? BATCHES_AHEAD : 1;
    return this.#queue.length === 0 && this.#held().length < this.#deps.config.batch_size * batches;
  }

  /** All rows held: queued, being sent, or being recorded. */
  #held(): readonly WaitingAttempt[] {
    return [...this.#queue, ...[...this.#working.keys()].flatMap(({ attempts }) => attempts)];
  }

  /** Waits until work ends, `wake` is called, or the time is up. */
  async #pause(ms: number): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#resume = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isAwake = false;
  }

  /**
   * Claims nothing while the circuit is open, and one row while it is half open.
   *
   * @param batches number of batches, for a backend that accepts them
   */
  async #claim(batches: number): Promise<number> {
    const { config, memory } = this.#deps;
    const { circuit } = memory.status();
    if (this.#isStopping || circuit === 'open') return 0;
    this.#usesBatches = await memory.storesMany().catch(() => false);
    const size = circuit === 'half_open' ? 1 : config.batch_size * (this.#usesBatches ? batches : 1);
    const attempts = await this.#leases.claim(size, this.#held());
    addTally(this.total, { claimed: attempts.length });
    this.#queue.push(...markDuplicates(this.#held(), attempts));
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

  /** The next rows whose memory is not in progress: one, or a batch for a backend that accepts batches. */
  #take(): readonly WaitingAttempt[] {
    const busy = new Set([...this.#working.keys()].flatMap(({ attempts }) => attempts.map(({ key }) => key)));
    const taken: WaitingAttempt[] = [];
    for (const attempt of this.#queue) {
      if (busy.has(attempt.key)) continue;
      taken.push(attempt);
      if (!this.#usesBatches || taken.length === this.#deps.config.batch_size) break;
      busy.add(attempt.key);
    }
    const isTaken = new Set(taken);
    this.#queue = this.#queue.filter((attempt) => !isTaken.has(attempt));
    return taken;
  }

  async #work(work: Work): Promise<void> {
    const callEnded = (): void => {
      work.isCalling = false;
      this.wake();
    };
    const workDeps = { deps: this.#deps, settler: this.#settler, leases: this.#leases, callEnded };
    const tally = await workRows(work.attempts, workDeps);
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
      await this.#deps.logbook.outbox.releaseLeases(rows, this.#workerId);
    } catch (error) {
      this.#deps.log.warn({ err: error, rows: rows.length }, 'leases could not be released and will expire');
    }
  }
}
