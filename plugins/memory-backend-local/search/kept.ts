/** Keeps what was used lately: a full half becomes the older one, and what nobody asks for there is forgotten with it. */
export class Kept<Key, Value> {
  readonly #half: number;
  readonly #sizeOf: (value: Value) => number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  #size = 0;

  /** `sizeOf` and `most` count the same thing, such as bytes. */
  constructor(most: number, sizeOf: (value: Value) => number) {
    this.#half = most / 2;
    this.#sizeOf = sizeOf;
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.keep(key, old);
    return old;
  }

  keep(key: Key, value: Value): void {
    const before = this.#young.get(key);
    const size = this.#sizeOf(value);
    this.#size += size - (before === undefined ? 0 : this.#sizeOf(before));
    if (this.#size > this.#half) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#size = size;
    }
    this.#young.set(key, value);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#size = 0;
  }
}
