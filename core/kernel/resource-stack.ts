import type { Disposable } from '../sdk/context.js';

/** What a plugin run holds, disposed last in first out; an item that fails does not affect the others. */
export class ResourceStack {
  #items: Disposable[] = [];
  #disposed = false;

  /** Adds an item; once the stack is disposed, the item is disposed at once. */
  push<D extends Disposable>(item: D): D {
    if (this.#disposed) void (async () => item.dispose())().catch(() => undefined);
    else this.#items.push(item);
    return item;
  }

  /** Adds an undo step, which runs once: when the handle or the stack is disposed. */
  defer(undo: () => void | Promise<void>): Disposable {
    let done = false;
    const item: Disposable = {
      dispose: () => {
        if (done) return;
        done = true;
        this.#items = this.#items.filter((other) => other !== item);
        return undo();
      },
    };
    return this.push(item);
  }

  get size(): number {
    return this.#items.length;
  }

  /** Disposes each item through `dispose`, which may limit its time. @returns the errors of items that failed. */
  async dispose(dispose: (item: Disposable) => Promise<void>): Promise<unknown[]> {
    this.#disposed = true;
    const errors: unknown[] = [];
    for (let item = this.#items.pop(); item; item = this.#items.pop()) {
      try {
        await dispose(item);
      } catch (error) {
        errors.push(error);
      }
    }
    return errors;
  }
}
