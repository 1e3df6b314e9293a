/**
 * The steps of stopping a plugin, and the share of the shutdown's time by which each ends: later steps get a part of the
 * time whatever the first ones use.
 */
const latest = { drain: 0.75, abort: 0.85, stop: 0.95, release: 1 } as const;

/** What a step gets even when the deadline has passed, milliseconds: enough for a well-behaved plugin. */
const least = { drain: 0, abort: 50, stop: 150, release: 150 } as const;

export type StopStep = keyof typeof latest;

interface Waiting {
  readonly step: StopStep;
  readonly run: () => void;
  readonly due: number;
  timer: NodeJS.Timeout;
}

/** The deadline of a shutdown, shared by all plugins. Before a shutdown every step has only its own limit. */
export class ShutdownDeadline {
  readonly #now: () => number;
  readonly #waiting = new Set<Waiting>();
  #begunAt: number | undefined;
  #deadline = Number.POSITIVE_INFINITY;

  /** `now` is epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get begun(): boolean {
    return this.#begunAt !== undefined;
  }

  /** Begins the shutdown: limits all waits, also those that have begun, by `deadline` (epoch milliseconds). */
  begin(deadline: number): void {
    this.#begunAt ??= this.#now();
    this.#deadline = Math.min(this.#deadline, deadline);
    for (const item of this.#waiting) {
      clearTimeout(item.timer);
      item.timer = setTimeout(() => this.#fire(item), this.#left(item.step, item.due - this.#now()));
    }
  }

  /** Epoch milliseconds at which a step is over at the latest; infinite before the shutdown. */
  until(step: StopStep): number {
    if (this.#begunAt === undefined) return Number.POSITIVE_INFINITY;
    return this.#begunAt + (this.#deadline - this.#begunAt) * latest[step];
  }

  /** Calls `run` after `ms`, or at the shutdown's limit for this step if that is sooner. @returns the undo step. */
  after(step: StopStep, ms: number, run: () => void): () => void {
    const item: Waiting = {
      step,
      run,
      due: this.#now() + ms,
      timer: setTimeout(() => this.#fire(item), this.#left(step, ms)),
    };
    this.#waiting.add(item);
    return () => {
      clearTimeout(item.timer);
      this.#waiting.delete(item);
    };
  }

  #left(step: StopStep, ms: number): number {
    if (this.#begunAt === undefined) return ms;
    return Math.max(0, Math.min(ms, Math.max(this.until(step) - this.#now(), least[step])));
  }

  #fire(item: Waiting): void {
    this.#waiting.delete(item);
    item.run();
  }
}

/** A step of stopping a plugin did not end in time. */
export class Overrun extends Error {
  /** `drain`, `stop` or `release`. */
  readonly step: string;

  constructor(step: string, message: string) {
    super(message);
    this.step = step;
  }
}

/** What a plugin had not ended when the time to stop was over. */
export interface Unfinished {
  readonly plugin: string;
  /** A step of stopping it, or a call that went on. */
  readonly what: string;
}
