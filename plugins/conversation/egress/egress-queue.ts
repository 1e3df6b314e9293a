import type { EgressStatus, Observation } from 'mortise/sdk';

export interface EgressQueuePorts {
  readonly capacity: number;
  /** Resolves when it was sent; rejects when it was not, or not in time. */
  readonly send: (adapter: string, observation: Observation) => Promise<void>;
  /** True while the adapter is left alone. */
  readonly coolingDown: (adapter: string) => boolean;
  readonly failed: (adapter: string, observation: Observation, error: unknown) => void;
  readonly full: (adapter: string, observation: Observation) => void;
}

/** What waits for one adapter, in order, and the loop that sends it. Without anything to send there is no loop. */
export class EgressQueue {
  readonly adapter: string;
  readonly #ports: EgressQueuePorts;
  #waiting: Observation[] = [];
  #running: Promise<void> | undefined;
  #current: Observation | undefined;
  #closed = false;
  #sent = 0;
  #failed = 0;
  #timedOut = 0;
  #dropped = 0;
  #suppressed = 0;

  constructor(adapter: string, ports: EgressQueuePorts) {
    this.adapter = adapter;
    this.#ports = ports;
  }

  enqueue(observation: Observation): void {
    if (this.#closed) return;
    if (this.#waiting.length >= this.#ports.capacity) {
      this.#dropped += 1;
      this.#ports.full(this.adapter, observation);
      return;
    }
    this.#waiting.push(observation);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Takes nothing new; resolves when all is sent. */
  async drained(): Promise<void> {
    await this.#running;
  }

  /** @returns what was not sent */
  close(): readonly Observation[] {
    this.#closed = true;
    const left = this.#waiting;
    this.#waiting = [];
    return this.#current ? [this.#current, ...left] : left;
  }

  status(): EgressStatus {
    return {
      adapter: this.adapter,
      depth: this.#waiting.length,
      sent: this.#sent,
      failed: this.#failed,
      timed_out: this.#timedOut,
      dropped: this.#dropped,
      suppressed: this.#suppressed,
    };
  }

  async #run(): Promise<void> {
    // Leaves the caller first: whoever enqueues waits for nothing.
    await null;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if (this.#ports.coolingDown(this.adapter)) {
        this.#suppressed += 1;
        continue;
      }
      this.#current = next;
      try {
        await this.#ports.send(this.adapter, next);
        this.#sent += 1;
      } catch (error) {
        if (this.#closed) return;
        if (isTimeout(error)) this.#timedOut += 1;
        else this.#failed += 1;
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
