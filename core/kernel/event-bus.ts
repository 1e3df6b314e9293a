import type { HostEvents } from '../sdk/events.js';

type Listener = (event: never) => unknown;

/** Host events. A listener that throws or rejects disturbs nobody; `onError` hears of it. */
export class EventBus {
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  on<E extends keyof HostEvents & string>(event: E, run: (value: HostEvents[E]) => unknown): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    listeners.add(run);
    return () => listeners.delete(run);
  }

  emit<E extends keyof HostEvents & string>(event: E, value: HostEvents[E]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) {
      try {
        const result = (listener as (value: HostEvents[E]) => unknown)(value);
        if (result instanceof Promise) result.catch(this.#onError);
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  count(): number {
    return [...this.#listeners.values()].reduce((sum, listeners) => sum + listeners.size, 0);
  }
}
