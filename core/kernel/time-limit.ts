/** Starts to wait and calls `run` when the time is over. @returns the undo step. */
export type Limit = (run: () => void) => () => void;

/** 0 = no limit. */
export function milliseconds(ms: number): Limit {
  return (run) => {
    if (ms <= 0) return () => undefined;
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  };
}

/**
 * Waits for work, but not past the limit or an abort. The work itself goes on; its late outcome is ignored.
 *
 * @throws what `late` makes, or the reason of the abort.
 */
export function withTimeLimit<T>(
  work: PromiseLike<T> | T,
  limit: Limit,
  late: () => Error,
  signal?: AbortSignal,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const settle =
    <A>(next: (value: A) => void) =>
    (value: A): void => {
      cancel();
      signal?.removeEventListener('abort', onAbort);
      next(value);
    };
  const onAbort = (): void => settle(reject)(signal?.reason);
  const cancel = limit(() => settle(reject)(late()));
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  Promise.resolve(work).then(settle(resolve), settle(reject));
  return promise;
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}
