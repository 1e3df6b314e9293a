import type { HttpService } from './host/http.js';
import type { StartHost } from './plugin.js';

/** How long a call may go on, and who may end it. */
export interface Deadline {
  /** Aborted by the time limit or the caller, unless the call was committed before. */
  readonly signal: AbortSignal;
  readonly expired: boolean;
  readonly committed: boolean;
  /** From here on nothing ends the call from outside. */
  commit(): void;
  /** The clock stands still while the call waits for a person; returns what starts it again. */
  pause(): () => void;
  /** Ends the call's bookkeeping. */
  close(): void;
}

/**
 * The time limit of one call, together with the signal of whoever asked for it. Close it when the call has ended.
 *
 * @param ms 0 = no limit.
 */
export function startDeadline(ms: number, caller: AbortSignal): Deadline {
  return new CallDeadline(ms, caller);
}

/** A class, because every call of a tool has one: an object of closures and getters costs several times as much. */
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

  // Handed on without the deadline.
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
    // A question of the call may be given up after the call itself has ended, and would start the clock for good.
    if (!this.#isLimited || this.committed || this.#closed) return;
    this.#startedAt = performance.now();
    this.#timer = setTimeout(() => {
      this.expired = true;
      this.#controller.abort(new Error('The time limit has passed.'));
    }, this.#left);
  }
}

const subjectLimit = 1_000;

/** Lets the first of many equal things pass, and then none for a while. */
export class QuietTimes {
  readonly #until = new Map<string, number>();

  /** @param now monotonic milliseconds */
  pass(subject: string, now: number, quietMs: number): boolean {
    if ((this.#until.get(subject) ?? Number.NEGATIVE_INFINITY) > now) return false;
    this.#until.delete(subject);
    this.#until.set(subject, now + quietMs);
    if (this.#until.size > subjectLimit) {
      const [oldest] = this.#until.keys();
      if (oldest !== undefined) this.#until.delete(oldest);
    }
    return true;
  }
}

const LOOK_EVERY_MS = 50;

/**
 * Runs once this process serves requests: never in one that was started for a single command, which must do what it was
 * asked and nothing beside.
 */
export function whenServing(host: Pick<StartHost, 'every' | 'log'>, http: HttpService, run: () => unknown): void {
  const looking = host.every(LOOK_EVERY_MS, async () => {
    if (http.origin === undefined) return;
    looking.dispose();
    await run();
  });
}
