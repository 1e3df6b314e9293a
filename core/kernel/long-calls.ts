import type { CallContext } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import type { CallEnd, HeldCall } from '../sdk/points.js';
import { runMarked } from './attribution.js';
import { callerGone, type Lease } from './lease.js';
import { isThenable } from './time-limit.js';

/** A lease that is taken before its call, so that accepted work can wait in a queue. */
export class HeldLease<V> implements HeldCall<V> {
  readonly #lease: Lease;
  readonly #value: V;
  readonly #timeoutMs: number;
  #ended: ((end: CallEnd) => void) | undefined;
  #begun = false;

  /** @param timeoutMs from the begin of the call on; 0 = no limit */
  constructor(lease: Lease, value: V, timeoutMs: number) {
    this.#lease = lease;
    this.#value = value;
    this.#timeoutMs = timeoutMs;
    lease.onAbort(() => this.#aborted());
  }

  run(use: (value: V, ctx: CallContext) => unknown, ended: (end: CallEnd) => void): void {
    if (this.#begun) throw new Error('A held call is made once.');
    this.#begun = true;
    this.#ended = ended;
    const lease = this.#lease;
    if (lease.abortReason) {
      this.#report({ ok: false, error: lease.abortReason });
      return;
    }
    lease.begin(this.#timeoutMs);
    try {
      const result = runMarked(lease, use, this.#value, lease);
      if (!isThenable(result)) this.#settled({ ok: true, value: result });
      else {
        result.then(
          (value) => this.#settled({ ok: true, value }),
          (error: unknown) => this.#settled({ ok: false, error }),
        );
      }
    } catch (error) {
      this.#settled({ ok: false, error });
    }
  }

  abort(cause?: unknown): void {
    this.#lease.abortForCaller(cause);
  }

  release(): void {
    if (!this.#begun) this.#lease.end(false);
  }

  #settled(end: CallEnd): void {
    this.#lease.end(!end.ok);
    this.#report(end);
  }

  #aborted(): void {
    const reason = this.#lease.abortReason;
    // Before the call nothing runs that could end the lease.
    if (!this.#begun) this.#lease.end(reason?.code !== callerGone);
    // A time limit ends the wait. After any other abort the call's own end is what counts.
    else if (reason?.code === 'call_timeout') this.#report({ ok: false, error: reason });
  }

  #report(end: CallEnd): void {
    const ended = this.#ended;
    this.#ended = undefined;
    ended?.(end);
  }
}

/**
 * Reads what a plugin produces, step by step, under one lease. The lease lasts until the plugin's iterator has ended: by
 * itself, by an error, because the reader left, or by an abort between two reads.
 */
export async function* leasedStream<T>(lease: Lease, open: () => AsyncIterable<T>): AsyncGenerator<T> {
  let iterator: AsyncIterator<T>;
  try {
    iterator = runMarked(lease, open)[Symbol.asyncIterator]();
  } catch (error) {
    lease.end(true);
    throw error;
  }
  const next = (): Promise<IteratorResult<T>> => iterator.next();
  let step: Promise<IteratorResult<T>> | undefined;
  lease.onAbort(() => void closeStream(lease, iterator, step));
  let ended = false;
  try {
    for (;;) {
      lease.throwIfAborted();
      step = runMarked(lease, next);
      const result = await lease.waitFor(step);
      if (result.done) {
        ended = true;
        lease.end(false);
        return;
      }
      yield result.value;
    }
  } catch (error) {
    if (!lease.aborted) {
      ended = true;
      lease.end(true);
    }
    throw error;
  } finally {
    if (!ended) lease.abort(new MortiseError(callerGone, 'The reader is gone.', { status: 499 }));
  }
}

async function closeStream<T>(
  lease: Lease,
  iterator: AsyncIterator<T>,
  step: Promise<unknown> | undefined,
): Promise<void> {
  const closed = runMarked(lease, async () => iterator.return?.());
  // The reader is gone, so how they end does not matter.
  await Promise.allSettled([closed, step]);
  lease.end(true);
}
