import { MortiseError } from '../sdk/errors.js';
import type { HostEvents } from '../sdk/events.js';
import type { CallEnd } from '../sdk/points.js';
import { milliseconds, withTimeLimit } from './time-limit.js';

type EventName = keyof HostEvents & string;
type Listener<E extends EventName> = (event: HostEvents[E]) => CallEnd | Promise<CallEnd>;

/** What the listeners of an awaited event did. */
interface EmitResult {
  readonly listeners: number;
  /** What listeners threw or rejected with, and `listener_timeout` of those that did not finish in time. */
  readonly errors: readonly unknown[];
}

const awaitedLimitMs = 10_000;

/** Host events. A failing listener does not affect the emitter or other listeners. */
export class EventBus {
  readonly #listeners = new Map<string, Set<Listener<never>>>();
  readonly #onError: (error: unknown) => void;

  /** `onError` gets what the host's own listeners throw. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Adds a listener of the host. @returns the undo step. */
  on<E extends EventName>(event: E, run: (value: HostEvents[E]) => unknown): () => void {
    return this.subscribe(event, async (value) => {
      try {
        return { ok: true, value: await run(value) };
      } catch (error) {
        this.#onError(error);
        return { ok: false, error };
      }
    });
  }

  /** Adds a listener that reports how it ended and never throws. @returns the undo step. */
  subscribe<E extends EventName>(event: E, listener: Listener<E>): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  emit<E extends EventName>(event: E, value: HostEvents[E]): void {
    for (const listener of this.#of(event)) void listener(value);
  }

  /**
   * Emits an event and waits for all its listeners, side by side. For changes that must be recorded before they count:
   * the caller decides what no listener, or a failed one, means. Never rejects.
   *
   * @param timeoutMs after which a listener counts as failed
   */
  async emitAwaited<E extends EventName>(
    event: E,
    value: HostEvents[E],
    { timeoutMs = awaitedLimitMs }: { readonly timeoutMs?: number } = {},
  ): Promise<EmitResult> {
    const late = (): Error =>
      new MortiseError('listener_timeout', `A listener of "${event}" did not finish within ${timeoutMs} ms.`, {
        status: 504,
      });
    const ends = await Promise.all(
      this.#of(event).map(async (listener): Promise<CallEnd> => {
        try {
          return await withTimeLimit(listener(value), milliseconds(timeoutMs), late);
        } catch (error) {
          return { ok: false, error };
        }
      }),
    );
    return { listeners: ends.length, errors: ends.flatMap((end) => (end.ok ? [] : [end.error])) };
  }

  /** Number of listeners of all events: for leak checks. */
  count(): number {
    return [...this.#listeners.values()].reduce((sum, listeners) => sum + listeners.size, 0);
  }

  #of<E extends EventName>(event: E): readonly Listener<E>[] {
    return [...(this.#listeners.get(event) ?? [])] as unknown as readonly Listener<E>[];
  }
}
