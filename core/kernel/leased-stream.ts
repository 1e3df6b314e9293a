import { MortiseError } from '../sdk/errors.js';
import { runMarked } from './attribution.js';
import { callerGone, type Lease } from './lease.js';

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
