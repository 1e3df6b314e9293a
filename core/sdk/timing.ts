import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { HttpService } from './host/http.js';
import type { StartHost } from './plugin.js';

/** The time limit of a call. */
export interface Deadline {
  /** Aborted by the time limit or the caller, unless the call was committed before. */
  readonly signal: AbortSignal;
  readonly expired: boolean;
  readonly committed: boolean;
  /** After this, neither the time limit nor the caller aborts the call. */
  commit(): void;
  /** Pauses the time limit while the call waits for a person. Returns a function that resumes it. */
  pause(): () => void;
  /** Clears the timer and the listener. */
  close(): void;
}

/**
 * Combines the time limit of one call with the caller's signal. Close it when the call has ended.
 *
 * @param ms 0 = no limit.
 */
export function startDeadline(ms: number, caller: AbortSignal): Deadline {
  return new CallDeadline(ms, caller);
}

/** A class, because every tool call creates one, and an object of closures and getters costs several times as much. */
class CallDeadline implements Deadline {
  readonly signal: AbortSignal;
  expired = false;
  committed = false;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #isLimited: boolean;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  #left: number;
  #startedAt = 0;

  constructor(ms: number, caller: AbortSignal) {
    this.signal = this.#controller.signal;
    this.#caller = caller;
    this.#isLimited = ms > 0;
    this.#left = ms;
    if (caller.aborted) this.#leave();
    else caller.addEventListener('abort', this.#leave, { once: true });
    this.#start();
  }

  // Passed on as a bare function.
  readonly commit = (): void => {
    this.committed = true;
    clearTimeout(this.#timer);
  };

  pause(): () => void {
    clearTimeout(this.#timer);
    this.#left = Math.max(1, this.#left - (performance.now() - this.#startedAt));
    return () => this.#start();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#leave);
  }

  readonly #leave = (): void => {
    if (!this.committed) this.#controller.abort(this.#caller.reason);
  };

  #start(): void {
    // A question to a person may be withdrawn after the call has ended; the timer must not start again then.
    if (!this.#isLimited || this.committed || this.#closed) return;
    this.#startedAt = performance.now();
    this.#timer = setTimeout(() => {
      this.expired = true;
      this.#controller.abort(new Error('The time limit has passed.'));
    }, this.#left);
  }
}

/** Milliseconds before each further attempt to commit an outcome. */
const COMMIT_AGAIN_AFTER_MS = [50, 200, 1_000];

/**
 * Commits the outcome of work that cannot be repeated, which one failed write must not lose: four attempts at most, with
 * 50, 200 and 1,000 ms in between. A commit whose acknowledgement was lost is attempted again as well, so `commit` must
 * recognise an outcome that is already there.
 *
 * @param mayRetry called with each error; false = another attempt would fail in the same way
 * @throws the error of the last attempt
 */
export async function retryCommit<T>(
  commit: () => Promise<T>,
  mayRetry: (error: unknown) => boolean = () => true,
): Promise<T> {
  for (const wait of COMMIT_AGAIN_AFTER_MS) {
    try {
      return await commit();
    } catch (error) {
      if (!mayRetry(error)) throw error;
    }
    await delay(wait);
  }
  return commit();
}

/** Lets the first of many equal events pass, then none for an interval. Remembers the 1,000 most recent subjects. */
export class Throttle {
  readonly #until = new LRUCache<string, number>({ max: 1_000 });

  /** @param now monotonic milliseconds */
  pass(subject: string, now: number, intervalMs: number): boolean {
    if ((this.#until.peek(subject) ?? Number.NEGATIVE_INFINITY) > now) return false;
    this.#until.set(subject, now + intervalMs);
    return true;
  }
}

/**
 * Runs once this process serves requests. It never runs in a process that was started for a single command.
 */
export function whenServing(host: Pick<StartHost, 'every' | 'own'>, http: HttpService, run: () => unknown): void {
  const begin = (): void => {
    // A timer's callback is a leased call of the plugin: what fails in it is the plugin's fault.
    const timer = host.every(1, () => {
      timer.dispose();
      return run();
    });
  };
  host.own(http.onListening(begin));
}

/** Runs work one after the other, in the order of the calls. A failure does not affect what follows. */
export function serialQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}
