/** Waits at most `ms`; the work itself goes on, its late outcome is dropped. `ms` 0 = no limit. */
export function withTimeLimit<T>(work: Promise<T> | T, ms: number, late: () => Error): Promise<T> {
  if (ms <= 0) return Promise.resolve(work);
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms);
    Promise.resolve(work).then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
