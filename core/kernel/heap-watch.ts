import { FastGrowth } from './fast-growth.js';
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
