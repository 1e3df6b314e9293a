import { type Frames, MainThreadView } from './main-thread-view.js';

/** How often the size of the process is read, milliseconds; a reading takes 12 microseconds of the watching thread. */
const lookEveryMs = 200;

/**
 * Notices, from another thread, that the heap of the main thread is full. V8 then ends the process without naming the
 * code, but pauses in an attached debugger before. One is attached only while the process grows fast: with it every
 * promise of the main thread costs three to five times as much.
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

  /** The view that is open now. */
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

/** The window in which growth is measured, milliseconds: V8 tries for about a minute to free a full heap. */
const windowMs = 300_000;

/**
 * Whether a process grows so fast that one call may be about to fill its heap: by a quarter of the heap limit within
 * some minutes, and to more than half of it. Growth over hours cannot be attributed to one plugin.
 */
export class FastGrowth {
  readonly #limit: number;
  /** The smallest sizes in the current half of the window and in the one before. */
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
