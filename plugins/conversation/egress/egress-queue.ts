import type { EgressStatus } from 'mortise/contracts/conversation';
import { createDrain, type Observation } from 'mortise/sdk';

export interface EgressQueuePorts {
  readonly capacity: number;
  /** Resolves when it was sent; rejects when it was not, or not in time. */
  readonly send: (adapter: string, observation: Observation) => Promise<void>;
  /** True while no sends to the adapter are attempted. */
  readonly coolingDown: (adapter: string) => boolean;
  readonly failed: (adapter: string, observation: Observation, error: unknown) => void;
  readonly full: (adapter: string, observation: Observation) => void;
  readonly count: (adapter: string, what: EgressCount) => void;
}

/** What a queue had not done when it was closed. */
export interface Unsent {
  readonly waiting: readonly Observation[];
  /** The adapter has it and has not said what came of it: it may be sent. */
  readonly handedOver: Observation | undefined;
}

/** Outcome of an outgoing observation. */
export type EgressCount = 'sent' | 'failed' | 'timed_out' | 'dropped' | 'suppressed';

/** What waits for one adapter, in order, and the loop that sends it. Without anything to send there is no loop. */
export class EgressQueue {
  readonly adapter: string;
  readonly #ports: EgressQueuePorts;
  #waiting: Observation[] = [];
  readonly #sending = createDrain(() => this.#sendQueued());
  #current: Observation | undefined;
  #closed = false;
  #full = false;
  readonly #counts = { sent: 0, failed: 0, timed_out: 0, dropped: 0, suppressed: 0 };

  constructor(adapter: string, ports: EgressQueuePorts) {
    this.adapter = adapter;
    this.#ports = ports;
  }

  enqueue(observation: Observation): void {
    if (this.#closed) return;
    if (this.#waiting.length >= this.#ports.capacity) {
      this.#count('dropped');
      // Reported once when it becomes full, so that a flood of refusals costs the workers little.
      if (!this.#full) this.#ports.full(this.adapter, observation);
      this.#full = true;
      return;
    }
    this.#waiting.push(observation);
    this.#sending.request();
  }

  /** Takes nothing new; resolves when all is sent. */
  drained(): Promise<void> {
    return this.#sending.idle();
  }

  /** Sends nothing further. @returns what was not done; the first time alone */
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
    this.#ports.count(this.adapter, what);
  }

  async #sendQueued(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if (this.#ports.coolingDown(this.adapter)) {
        this.#count('suppressed');
        continue;
      }
      this.#current = next;
      this.#full = false;
      try {
        await this.#ports.send(this.adapter, next);
        this.#count('sent');
      } catch (error) {
        if (this.#closed) return;
        this.#count(isTimeout(error) ? 'timed_out' : 'failed');
        this.#ports.failed(this.adapter, next, error);
      } finally {
        this.#current = undefined;
      }
    }
  }
}

function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'call_timeout';
}
