import { type Frames, MainThreadView } from './main-thread-view.js';

/** How often the size of the process is looked at, milliseconds; a look takes 12 microseconds of the thread that looks. */
const lookEveryMs = 200;

/**
 * Notices, from another thread, that the heap of the main thread is full: the engine ends the process then, and says
 * nothing of whose code it was. It tells its debugger before, so one is attached while the process grows fast, and only
 * then: with it every promise of the main thread costs three to five times as much.
 */
export class HeapWatch {
  readonly #growth: FastGrowth;
  readonly #onFull: (view: MainThreadView, frames: Frames) => void;
  #view: MainThreadView | undefined;
  #full = false;

  /** @param limit bytes that the heap may hold @param onFull called once: the process cannot go on */
  constructor(limit: number, onFull: (view: MainThreadView, frames: Frames) => void) {
    this.#growth = new FastGrowth(limit, performance.now());
    this.#onFull = onFull;
    setInterval(() => this.#look(), lookEveryMs);
  }

  /** The view that is open anyway. */
  get view(): MainThreadView | undefined {
    return this.#view;
  }

  #look(): void {
    const fast = this.#growth.isFast(process.memoryUsage.rss(), performance.now());
    if (fast && !this.#view) {
      const view = new MainThreadView((frames) => {
        this.#full = true;
        this.#onFull(view, frames);
      });
      this.#view = view;
    } else if (!fast && this.#view && !this.#full) {
      this.#view.close();
      this.#view = undefined;
    }
  }
}

/** How long a growth may take that counts as one, milliseconds: a heap that is full is so for a minute before it gives up. */
const windowMs = 300_000;

/**
 * Tells from the size of a process whether it grows so fast that one call may be about to fill its heap: by a quarter of
 * what the heap may hold within some minutes, and to more than half of it. What grows for hours is nobody's alone.
 */
export class FastGrowth {
  readonly #limit: number;
  /** The smallest sizes of the part of the window that runs and of the one before. */
  #least = Number.POSITIVE_INFINITY;
  #leastBefore = Number.POSITIVE_INFINITY;
  #turnAt: number;

  /** @param limit bytes that the heap may hold */
  constructor(limit: number, now: number) {
    this.#limit = limit;
    this.#turnAt = now + windowMs / 2;
  }

  /** @param size bytes that the process holds @param now monotonic milliseconds */
  isFast(size: number, now: number): boolean {
    if (now >= this.#turnAt) {
      this.#turnAt = now + windowMs / 2;
      this.#leastBefore = this.#least;
      this.#least = Number.POSITIVE_INFINITY;
    }
    this.#least = Math.min(this.#least, size);
    const from = Math.min(this.#least, this.#leastBefore);
    return size > this.#limit / 2 && size - from > this.#limit / 4;
  }
}
