import type { BusStats, PublishRefusal } from 'mortise/contracts/conversation';
import type { Ticket } from './ticket.js';

interface InputBusDeps {
  readonly capacity: number;
  readonly consume: (ticket: Ticket) => void;
  readonly schedule: Schedule;
}

/** Runs the dispatcher in a context of its own: as a microtask, or with `afterOthers` after timers and I/O. */
export type Schedule = (run: () => void, afterOthers: boolean) => void;

/** Places that only the platform's own observations may take, so that overload does not drop its alerts. */
const systemReserve = 64;

/**
 * Observations routed before timers and I/O get their turn. Handlers may publish again: a bus that feeds itself would
 * otherwise block the event loop.
 */
const yieldAfter = 256;

/** A bounded FIFO queue: the newest observation is refused when it is full. */
export class InputBus {
  readonly #deps: InputBusDeps;
  #queue: Ticket[] = [];
  readonly #roomWaiters = new Set<() => void>();
  #scheduled = false;
  #state: 'open' | 'draining' | 'closed' = 'open';
  #untilYield = yieldAfter;
  #published = 0;
  #accepted = 0;
  #consumed = 0;
  #highWater = 0;
  readonly #dropped: Partial<Record<PublishRefusal, number>> = {};

  constructor(deps: InputBusDeps) {
    this.#deps = deps;
  }

  /** Whether new observations are refused. @param inside published while handling an accepted observation */
  shut(inside: boolean): boolean {
    return this.#state === 'closed' || (this.#state === 'draining' && !inside);
  }

  /** Counts an attempt to publish. */
  attempt(): void {
    this.#published += 1;
  }

  /** Counts a refusal. */
  refuse(reason: PublishRefusal): void {
    this.#dropped[reason] = (this.#dropped[reason] ?? 0) + 1;
  }

  /** @param system an observation of the platform itself, which may use the reserve */
  hasRoom(system: boolean): boolean {
    const { capacity } = this.#deps;
    return this.#queue.length < (system ? capacity + systemReserve : capacity);
  }

  accept(ticket: Ticket): void {
    this.#accepted += 1;
    this.#queue.push(ticket);
    this.#highWater = Math.max(this.#highWater, this.#queue.length);
    if (this.#scheduled) return;
    this.#scheduled = true;
    const afterOthers = this.#untilYield <= 0;
    if (afterOthers) this.#untilYield = yieldAfter;
    this.#deps.schedule(() => this.#dispatch(), afterOthers);
  }

  /** Resolves when there may be room, when `signal` aborts, or after `ms`. */
  whenRoom(ms: number, signal?: AbortSignal): Promise<void> {
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

  /** Tickets that are accepted and not yet routed, in order. */
  waiting(): readonly Ticket[] {
    return [...this.#queue];
  }

  /** From now on only observations from inside are accepted: what running turns publish. */
  drain(): void {
    if (this.#state === 'open') this.#state = 'draining';
    for (const wake of [...this.#roomWaiters]) wake();
  }

  /** From now on every observation is refused; accepted ones are still routed. */
  close(): void {
    this.#state = 'closed';
    for (const wake of [...this.#roomWaiters]) wake();
  }

  stats(): Omit<BusStats, 'inbox_dropped' | 'sessions' | 'running' | 'queued'> {
    return {
      capacity: this.#deps.capacity,
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
    this.#untilYield -= batch.length;
    for (const ticket of batch) {
      this.#consumed += 1;
      this.#deps.consume(ticket);
    }
    if (this.#roomWaiters.size > 0) for (const wake of [...this.#roomWaiters]) wake();
  }
}
