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
