import type { BusStats, PublishRefusal } from 'mortise/contracts/conversation';
import type { Ticket } from './ticket.js';

export interface InputBusOptions {
  readonly capacity: number;
  /** Further places that only the platform's own observations may take, so that news of overload is not lost to it. */
  readonly reserve: number;
  readonly consume: (ticket: Ticket) => void;
  readonly schedule: Schedule;
}

/**
 * Runs the dispatcher soon, in a context of its own: before anything else happens, or once timers and sockets have had
 * their turn.
 */
export type Schedule = (run: () => void, afterOthers: boolean) => void;

/**
 * What is routed before others get a turn of the event loop. What is handled may publish again: a bus that feeds itself
 * would otherwise never let go.
 */
const turnBatch = 256;

/** First in, first out; what does not fit is refused, never what was accepted. */
export class InputBus {
  readonly #options: InputBusOptions;
  #queue: Ticket[] = [];
  readonly #roomWaiters = new Set<() => void>();
  #scheduled = false;
  #state: 'open' | 'draining' | 'closed' = 'open';
  #untilTurn = turnBatch;
  #published = 0;
  #accepted = 0;
  #consumed = 0;
  #highWater = 0;
  readonly #dropped: Partial<Record<PublishRefusal, number>> = {};

  constructor(options: InputBusOptions) {
    this.#options = options;
  }

  /** Whether nothing more is taken. @param inside it comes from what was accepted before */
  shut(inside: boolean): boolean {
    return this.#state === 'closed' || (this.#state === 'draining' && !inside);
  }

  /** Counts an attempt; the checks before capacity are the caller's. */
  attempt(): void {
    this.#published += 1;
  }

  refuse(reason: PublishRefusal): void {
    this.#dropped[reason] = (this.#dropped[reason] ?? 0) + 1;
  }

  /** False when there is no room for an observation of this kind. */
  hasRoom(system: boolean): boolean {
    const { capacity, reserve } = this.#options;
    return this.#queue.length < (system ? capacity + reserve : capacity);
  }

  accept(ticket: Ticket): void {
    this.#accepted += 1;
    this.#queue.push(ticket);
    this.#highWater = Math.max(this.#highWater, this.#queue.length);
    if (this.#scheduled) return;
    this.#scheduled = true;
    const tired = this.#untilTurn <= 0;
    if (tired) this.#untilTurn = turnBatch;
    this.#options.schedule(() => this.#dispatch(), tired);
  }

  /** Resolves when a place may have become free, or after `ms`. */
  room(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        this.#roomWaiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
      this.#roomWaiters.add(done);
    });
  }

  /** Accepted and not yet routed, in order. */
  waiting(): readonly Ticket[] {
    return [...this.#queue];
  }

  /** From now on only what comes from the inside is taken: what running turns have to say. */
  drain(): void {
    if (this.#state === 'open') this.#state = 'draining';
    for (const wake of [...this.#roomWaiters]) wake();
  }

  /** Later publishes are refused; what was accepted is still consumed. */
  close(): void {
    this.#state = 'closed';
    for (const wake of [...this.#roomWaiters]) wake();
  }

  stats(): Omit<BusStats, 'inbox_dropped' | 'sessions' | 'running' | 'queued'> {
    return {
      capacity: this.#options.capacity,
      published: this.#published,
      accepted: this.#accepted,
      consumed: this.#consumed,
      depth: this.#queue.length,
      high_water: this.#highWater,
      dropped: { ...this.#dropped },
    };
  }

  #dispatch(): void {
    this.#scheduled = false;
    const batch = this.#queue;
    this.#queue = [];
    this.#untilTurn -= batch.length;
    for (const ticket of batch) {
      this.#consumed += 1;
      this.#options.consume(ticket);
    }
    if (this.#roomWaiters.size > 0) for (const wake of [...this.#roomWaiters]) wake();
  }
}
