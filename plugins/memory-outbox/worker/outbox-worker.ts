import type { Disposable } from 'mortise/sdk';
import type { Attempt } from '../flush/flush-audit.js';
import type { OutboxParts } from '../parts.js';
import { claimBatch } from './claim-batch.js';
import { addTally, emptyTally, type Tally } from './tally.js';
import { workRows } from './work-rows.js';

/** Rows that are sent together, and how to break that off. */
interface Work {
  readonly attempts: readonly Attempt[];
  readonly abort: AbortController;
}

/** What makes two rows the same memory. */
function dedupKey({ row }: Attempt): string {
  return `${row.space}\n${row.payloadSha}\n${row.metaSha}`;
}

/**
 * Claims rows and delivers them, several at a time, in the order they were claimed. Rows of the same memory are never
 * in work at once. All of its rows are renewed while it holds them; one that cannot be is let go.
 */
export class OutboxWorker {
  readonly total: Tally = emptyTally();
  readonly #parts: OutboxParts;
  readonly #workerId: string;
  readonly #working = new Map<Work, Promise<void>>();
  #queue: Attempt[] = [];
  #isStopping = false;
  #isWoken = false;
  #goOn: () => void = () => {};
  #renewing: Disposable | undefined;
  #looping: Promise<void> | undefined;

  constructor(parts: OutboxParts, workerId: string) {
    this.#parts = parts;
    this.#workerId = workerId;
  }

  /** Delivers one batch. */
  async runOnce(): Promise<Tally> {
    await this.#claim();
    while (this.#queue.length > 0 || this.#working.size > 0) {
      await this.#start();
      if (this.#working.size === 0) break;
      await Promise.race(this.#working.values());
    }
    this.#stopRenewing();
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
    // Their leases run out, and whoever takes them over looks into the backend first.
    for (const { abort } of this.#working.keys()) abort.abort();
    this.#stopRenewing();
  }

  async #loop(everyMs: number): Promise<void> {
    while (!this.#isStopping) {
      let claimed = 0;
      try {
        if (this.#queue.length === 0 && this.#hasRoom()) claimed = await this.#claim();
        await this.#start();
      } catch (error) {
        this.#parts.log.warn({ err: error }, 'The outbox cannot be read at the moment.');
      }
      if (claimed === 0 || !this.#hasRoom()) await this.#pause(everyMs);
    }
    await this.#release();
  }

  #hasRoom(): boolean {
    return this.#working.size < this.#parts.config.concurrency;
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

  /** A backend that is not called gets nothing; one that is being tried gets one row. */
  async #claim(): Promise<number> {
    const { circuit } = this.#parts.memory.status();
    if (this.#isStopping || circuit === 'open') return 0;
    const size = circuit === 'half_open' ? 1 : this.#parts.config.batch_size;
    const attempts = await claimBatch(this.#workerId, size, this.#parts);
    addTally(this.total, { claimed: attempts.length });
    this.#queue.push(...attempts);
    if (attempts.length > 0) this.#keepRenewing();
    return attempts.length;
  }

  async #start(): Promise<void> {
    const isGrouped = this.#queue.length > 1 && (await this.#parts.memory.takesMany().catch(() => false));
    while (this.#hasRoom()) {
      const attempts = this.#take(isGrouped);
      if (attempts.length === 0) return;
      const work = { attempts, abort: new AbortController() };
      this.#working.set(work, this.#work(work));
    }
  }

  /** The next rows whose memory is not in work: one, or all of them for a backend that takes many. */
  #take(isGrouped: boolean): readonly Attempt[] {
    const busy = new Set([...this.#working.keys()].flatMap(({ attempts }) => attempts.map(dedupKey)));
    const taken: Attempt[] = [];
    for (const attempt of this.#queue) {
      if (busy.has(dedupKey(attempt))) continue;
      taken.push(attempt);
      if (!isGrouped) break;
      busy.add(dedupKey(attempt));
    }
    const isTaken = new Set(taken);
    this.#queue = this.#queue.filter((attempt) => !isTaken.has(attempt));
    return taken;
  }

  async #work(work: Work): Promise<void> {
    const tally = await workRows(work.attempts, work.abort.signal, this.#parts);
    addTally(this.total, tally);
    this.#working.delete(work);
    this.wake();
  }

  #keepRenewing(): void {
    const everyMs = (this.#parts.config.lease_seconds * 1_000) / 3;
    this.#renewing ??= this.#parts.every(everyMs, () => this.#renew());
  }

  #stopRenewing(): void {
    void this.#renewing?.dispose();
    this.#renewing = undefined;
  }

  async #renew(): Promise<void> {
    const held = [...this.#queue, ...[...this.#working.keys()].flatMap(({ attempts }) => attempts)];
    const ids = held.map(({ row }) => row.outboxId);
    if (ids.length === 0) return;
    let renewed: ReadonlySet<number>;
    try {
      renewed = await this.#parts.logbook.outbox.renewLeases(ids, this.#workerId);
    } catch (error) {
      this.#parts.log.warn({ err: error, rows: ids.length }, 'Leases could not be renewed.');
      renewed = new Set();
    }
    const isLost = ({ row }: Attempt) => ids.includes(row.outboxId) && !renewed.has(row.outboxId);
    this.#queue = this.#queue.filter((attempt) => !isLost(attempt));
    for (const { attempts, abort } of this.#working.keys()) {
      const lost = attempts.filter(isLost);
      if (lost.length === 0) continue;
      this.#parts.log.warn(
        { rows: lost.map(({ row }) => row.outboxId) },
        'Leases were lost; their calls are broken off.',
      );
      abort.abort();
    }
  }

  async #release(): Promise<void> {
    const rows = this.#queue.map(({ row }) => row);
    this.#queue = [];
    try {
      await this.#parts.logbook.outbox.releaseLeases(rows, this.#workerId);
    } catch (error) {
      this.#parts.log.warn({ err: error, rows: rows.length }, 'Leases could not be given back and will run out.');
    }
  }
}
