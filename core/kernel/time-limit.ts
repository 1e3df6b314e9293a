/** Starts to wait: calls `run` when the time is over. @returns the undo step. */
export type Limit = (run: () => void) => () => void;

/** Milliseconds from now on; 0 = no limit. */
export function milliseconds(ms: number): Limit {
  return (run) => {
    if (ms <= 0) return () => undefined;
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  };
}

/**
 * Waits no longer than the limit, and not past an abort; the work itself goes on, its late outcome is dropped.
 *
 * @throws what `late` makes, or the reason of the abort.
 */
export function withTimeLimit<T>(
  work: PromiseLike<T> | T,
  limit: Limit,
  late: () => Error,
  signal?: AbortSignal,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = limit(() => {
      signal?.removeEventListener('abort', onAbort);
      reject(late());
    });
    const settled = (): void => {
      cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    Promise.resolve(work).then(
      (value) => {
        settled();
        resolve(value);
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}
