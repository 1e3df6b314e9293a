import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database, Transaction } from './host/database.js';

/** Runs one function for many requests, never twice at the same time. */
export interface Drain {
  /** Runs soon, after the caller's synchronous code; a request during a run starts one more run after it. */
  request(): void;
  /** Resolves when nothing is running or requested. */
  idle(): Promise<void>;
}

/**
 * The loop behind a queue: code that adds an item calls `request`, and `run` processes what is queued.
 *
 * `running ??= run().finally(() => { running = undefined; })` loses the item that is queued after the last check of the
 * queue and before `finally`. Here the flag is cleared in the same tick as the last check for requests.
 *
 * @param onError receives what `run` throws; without it, the error is an unhandled rejection. Either way later requests
 * are served.
 *
 * @example
 * const sending = createDrain(async () => { for (let next = queue.shift(); next; next = queue.shift()) await send(next); });
 * queue.push(item);
 * sending.request();
 */
export function createDrain(run: () => unknown, onError: (error: unknown) => void = rejectUnhandled): Drain {
  let isRequested = false;
  let running: Promise<void> | undefined;

  const serve = async (): Promise<void> => {
    await null;
    while (isRequested) {
      isRequested = false;
      try {
        await run();
      } catch (error) {
        onError(error);
      }
    }
    running = undefined;
  };

  return {
    request() {
      isRequested = true;
      running ??= serve();
    },
    async idle() {
      while (running !== undefined) await running;
    },
  };
}

function rejectUnhandled(error: unknown): void {
  void Promise.reject(error);
}

/** Commits jobs together and returns one outcome for each, in order. Rejects when none of them was committed. */
export type CommitGroup<Job, Outcome> = (jobs: readonly Job[]) => Promise<readonly GroupOutcome<Outcome>[]>;

export type GroupOutcome<Outcome> = { readonly value: Outcome } | { readonly error: unknown };

interface Waiting<Job, Outcome> {
  readonly job: Job;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Commits jobs that wait at the same time as one group. */
export interface GroupCommit<Job, Outcome> {
  /** @param place `first` puts the job before all waiting jobs */
  submit(job: Job, place?: 'first' | 'last'): Promise<Outcome>;
  /** Resolves when no job is waiting or running. */
  idle(): Promise<void>;
}

export interface GroupCommitOptions {
  /** Maximum jobs in one group; 128 when absent. A larger group holds the write lock longer than it saves commits. */
  readonly largest?: number;
  /**
   * `true` (the default) waits one turn of the event loop before a commit, and further turns while each adds jobs:
   * callers that got their results together submit again one after the other. `false` commits the first job immediately
   * and the jobs that arrive meanwhile as the next group.
   */
  readonly gather?: boolean;
}

/** Default of {@link GroupCommitOptions.largest}. */
export const LARGEST_GROUP = 128;

/** Commits waiting jobs in groups, one group at a time, outside the async context of their callers. */
export function createGroupCommit<Job, Outcome>(
  commit: CommitGroup<Job, Outcome>,
  { largest = LARGEST_GROUP, gather = true }: GroupCommitOptions = {},
): GroupCommit<Job, Outcome> {
  const waiting: Waiting<Job, Outcome>[] = [];
  // A member may be inside another transaction, which the group must not join.
  const detached = AsyncLocalStorage.snapshot();
  let running: Promise<void> | undefined;

  const gatherJobs = async (): Promise<void> => {
    let before: number;
    do {
      before = waiting.length;
      await nextTurn();
    } while (waiting.length > before && waiting.length < largest);
  };

  const commitOne = async (): Promise<void> => {
    const group = waiting.splice(0, largest);
    try {
      const outcomes = await commit(group.map(({ job }) => job));
      for (const [index, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[index];
        if (outcome === undefined) reject(new Error('A job of the group has no outcome.'));
        else if ('error' in outcome) reject(outcome.error);
        else resolve(outcome.value);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      if (gather) await gatherJobs();
      await commitOne();
      // Lets the event loop handle requests, and the driver release its statements, between two groups.
      if (!gather && waiting.length > 0) await nextTurn();
    }
    running = undefined;
  };

  return {
    submit(job, place = 'last') {
      return new Promise((resolve, reject) => {
        if (place === 'first') waiting.unshift({ job, resolve, reject });
        else waiting.push({ job, resolve, reject });
        running ??= detached(run);
      });
    },
    async idle() {
      while (running !== undefined) await running;
    },
  };
}

/** A conflict is resolved by reading the committed rows again; repeated conflicts have another cause. */
const MAX_ATTEMPTS = 3;

/**
 * Writes jobs that wait at the same time in one transaction. If it fails, each job is retried in a savepoint of
 * its own, so that no job fails because of another; an unavailable database fails all of them.
 *
 * @param write must only do database work, because it may run again. Returns one outcome per job, in order.
 * @param options.retries whether a job that failed alone with this error is retried, up to three attempts in total
 */
export function createTransactionGroup<Job, Outcome>(
  database: Database,
  write: (jobs: readonly Job[], trx: Transaction) => Promise<readonly Outcome[]>,
  options: Pick<GroupCommitOptions, 'largest'> & { readonly retries?: (error: unknown) => boolean } = {},
): GroupCommit<Job, Outcome> {
  const { retries = () => false } = options;

  const writeAlone = async (job: Job, trx: Transaction): Promise<GroupOutcome<Outcome>> => {
    for (let tries = 1; ; tries += 1) {
      try {
        const outcomes = await database.transaction((savepoint) => write([job], savepoint), { trx });
        return outcomes.length === 1
          ? { value: outcomes[0] as Outcome }
          : { error: new Error('The job has no outcome.') };
      } catch (error) {
        if (database.codec.errorKind(error) === 'unavailable') throw error;
        if (!retries(error) || tries === MAX_ATTEMPTS) return { error };
      }
    }
  };

  return createGroupCommit<Job, Outcome>(async (jobs) => {
    try {
      return await database.transaction(async (trx) => (await write(jobs, trx)).map((value) => ({ value })));
    } catch (error) {
      if (database.codec.errorKind(error) === 'unavailable' || (jobs.length === 1 && !retries(error))) throw error;
      return database.transaction(async (trx) => {
        const outcomes: GroupOutcome<Outcome>[] = [];
        for (const job of jobs) outcomes.push(await writeAlone(job, trx));
        return outcomes;
      });
    }
  }, options);
}

export interface WriteBehindOptions<Row> {
  /** Stores the newest row of each key. */
  write(rows: readonly Row[]): Promise<void>;
  /** Called when the store has failed repeatedly; rows set from then on are dropped. */
  gaveUp(error: unknown): void;
  /** Delay between two batches in milliseconds; 250 when absent. */
  readonly everyMs?: number;
  /** Maximum rows in one batch; 1,000 when absent. */
  readonly batch?: number;
  /** Consecutive failures after which no more rows are stored; 3 when absent. */
  readonly tries?: number;
}

/**
 * Stores rows some time after they were set, so that `set` never waits. Only the newest row of a key is stored, which
 * bounds the pending rows by the number of keys.
 */
export class WriteBehind<Row> {
  readonly #options: WriteBehindOptions<Row>;
  #waiting = new Map<string, Row>();
  #timer: NodeJS.Timeout | undefined;
  readonly #writing = createDrain(() => this.#writeBatch());
  #isWriting = false;
  #failures = 0;
  #closed = false;

  constructor(options: WriteBehindOptions<Row>) {
    this.#options = options;
  }

  /** False once storing has been given up. */
  get open(): boolean {
    return !this.#closed;
  }

  set(key: string, row: Row): void {
    if (this.#closed) return;
    this.#waiting.set(key, row);
    this.#arm();
  }

  /** Resolves when all rows set so far are stored, or storing has been given up. */
  async flush(): Promise<void> {
    await this.#writing.idle();
    while (this.#waiting.size > 0 && !this.#closed) {
      this.#writing.request();
      await this.#writing.idle();
    }
  }

  /** Stores pending rows; later rows are dropped. */
  async close(): Promise<void> {
    await this.flush();
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#isWriting) return;
    this.#timer = setTimeout(this.#writing.request, this.#options.everyMs ?? 250);
    this.#timer.unref();
  }

  async #writeBatch(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isWriting = true;
    await this.#write();
    this.#isWriting = false;
    if (this.#waiting.size > 0 && !this.#closed) this.#arm();
  }

  async #write(): Promise<void> {
    const batch = [...this.#waiting].slice(0, this.#options.batch ?? 1_000);
    if (batch.length === 0) return;
    for (const [key] of batch) this.#waiting.delete(key);
    try {
      await this.#options.write(batch.map(([, row]) => row));
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      if (this.#failures >= (this.#options.tries ?? 3)) this.#giveUp(error);
      // Rows set meanwhile are newer.
      else this.#waiting = new Map([...batch, ...this.#waiting]);
    }
  }

  #giveUp(error: unknown): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#options.gaveUp(error);
  }
}
