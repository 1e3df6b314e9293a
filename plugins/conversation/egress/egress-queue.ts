import type { EgressStatus } from 'mortise/contracts/conversation';
import { createDrain, type Observation } from 'mortise/sdk';

export interface EgressQueueDeps {
  readonly capacity: number;
  /** Sends one observation; rejects when it failed or exceeded its time limit. */
  readonly send: (adapter: string, observation: Observation) => Promise<void>;
  /** True while the adapter cools down. */
  readonly coolingDown: (adapter: string) => boolean;
  readonly failed: (adapter: string, observation: Observation, error: unknown) => void;
  readonly full: (adapter: string, observation: Observation) => void;
  readonly count: (adapter: string, what: EgressCount) => void;
}

/** What a queue had not sent when it was closed. */
export interface Unsent {
  readonly waiting: readonly Observation[];
  /** Passed to the adapter and not confirmed: it may have been sent. */
  readonly handedOver: Observation | undefined;
}

/** The result of one observation, by which it is counted. */
export type EgressCount = 'sent' | 'failed' | 'timed_out' | 'dropped' | 'suppressed';

/** The queue of one adapter, and the loop that sends it in order. The loop runs only while the queue is not empty. */
export class EgressQueue {
  readonly adapter: string;
  readonly #deps: EgressQueueDeps;
  #waiting: Observation[] = [];
  readonly #sending = createDrain(() => this.#sendQueued());
  #current: Observation | undefined;
  #closed = false;
  #full = false;
  readonly #counts = { sent: 0, failed: 0, timed_out: 0, dropped: 0, suppressed: 0 };

  constructor(adapter: string, deps: EgressQueueDeps) {
    this.adapter = adapter;
    this.#deps = deps;
  }

  enqueue(observation: Observation): void {
    if (this.#closed) return;
    if (this.#waiting.length >= this.#deps.capacity) {
      this.#count('dropped');
      // Reported once when it becomes full, so that a flood of refusals stays cheap for the workers.
      if (!this.#full) this.#deps.full(this.adapter, observation);
      this.#full = true;
      return;
    }
    this.#waiting.push(observation);
    this.#sending.request();
  }

  /** Resolves when everything queued is sent. */
  drained(): Promise<void> {
    return this.#sending.idle();
  }

  /** Sends nothing further. @returns what was not sent; only the first call returns anything */
  close(): Unsent {
    if (this.#closed) return { waiting: [], handedOver: undefined };
    this.#closed = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    return { waiting, handedOver: this.#current };
  }

  status(): EgressStatus {
    return { adapter: this.adapter, depth: this.#waiting.length, ...this.#counts };
  }

  #count(what: EgressCount): void {
    this.#counts[what] += 1;
    this.#deps.count(this.adapter, what);
  }

  async #sendQueued(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if (this.#deps.coolingDown(this.adapter)) {
        this.#count('suppressed');
        continue;
      }
      this.#current = next;
      this.#full = false;
      try {
        await this.#deps.send(this.adapter, next);
        this.#count('sent');
      } catch (error) {
        if (this.#closed) return;
        this.#count(isTimeout(error) ? 'timed_out' : 'failed');
        this.#deps.failed(this.adapter, next, error);
      } finally {
        this.#current = undefined;
      }
    }
  }
}

function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'call_timeout';
}
