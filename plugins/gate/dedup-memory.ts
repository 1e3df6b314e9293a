const none = -1;

/**
 * When each content was first seen: at most so many entries, least recently used out first. A list over typed arrays
 * instead of the order of a Map: finding a Map's oldest key walks over all that was deleted before it.
 */
export class DedupMemory {
  #slots = new Map<string, number>();
  #keys: string[] = [];
  #seen = new Float64Array(64);
  #newer = new Int32Array(64);
  #older = new Int32Array(64);
  #free: number[] = [];
  #newest = none;
  #oldest = none;

  get size(): number {
    return this.#slots.size;
  }

  /** Monotonic milliseconds; undefined when it was never seen or is forgotten. */
  firstSeen(key: string): number | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined) return undefined;
    return this.#seen[slot];
  }

  /** Notes that an entry was asked for: it stays longer than those that nobody asks for. */
  touch(key: string): void {
    const slot = this.#slots.get(key);
    if (slot === undefined || slot === this.#newest) return;
    this.#unlink(slot);
    this.#link(slot);
  }

  /** @param horizon entries seen before this are of no use any more; two of them are let go with every insertion */
  remember(key: string, now: number, maxEntries: number, horizon: number): void {
    const known = this.#slots.get(key);
    if (known !== undefined) {
      this.#seen[known] = now;
      this.touch(key);
      return;
    }
    for (let step = 0; step < 2 && this.#oldest !== none && this.#at(this.#seen, this.#oldest) <= horizon; step += 1) {
      this.#forgetOldest();
    }
    while (this.#slots.size >= maxEntries) this.#forgetOldest();
    const slot = this.#free.pop() ?? this.#keys.length;
    if (slot >= this.#seen.length) this.#grow();
    this.#keys[slot] = key;
    this.#seen[slot] = now;
    this.#slots.set(key, slot);
    this.#link(slot);
  }

  #at(array: Float64Array | Int32Array, slot: number): number {
    return array[slot] ?? none;
  }

  #forgetOldest(): void {
    const slot = this.#oldest;
    this.#slots.delete(this.#keys[slot] ?? '');
    this.#keys[slot] = '';
    this.#unlink(slot);
    this.#free.push(slot);
  }

  #link(slot: number): void {
    this.#older[slot] = this.#newest;
    this.#newer[slot] = none;
    if (this.#newest !== none) this.#newer[this.#newest] = slot;
    this.#newest = slot;
    if (this.#oldest === none) this.#oldest = slot;
  }

  #unlink(slot: number): void {
    const newer = this.#at(this.#newer, slot);
    const older = this.#at(this.#older, slot);
    if (newer === none) this.#newest = older;
    else this.#older[newer] = older;
    if (older === none) this.#oldest = newer;
    else this.#newer[older] = newer;
  }

  #grow(): void {
    const capacity = this.#seen.length * 2;
    const seen = new Float64Array(capacity);
    seen.set(this.#seen);
    this.#seen = seen;
    this.#newer = widened(this.#newer, capacity);
    this.#older = widened(this.#older, capacity);
  }
}

function widened(array: Int32Array, capacity: number): Int32Array<ArrayBuffer> {
  const wider = new Int32Array(capacity);
  wider.set(array);
  return wider;
}
