import { setTimeout as delay } from 'node:timers/promises';

/** Whether the work ends well in time. It is not cut off: what is late ends by itself. */
export async function answersWithin(timeoutMs: number, work: () => Promise<unknown>): Promise<boolean> {
  const limit = new AbortController();
  const answered = work().then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([answered, delay(timeoutMs, false, { signal: limit.signal, ref: false })]);
  } finally {
    limit.abort();
  }
}
