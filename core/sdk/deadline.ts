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
