/** Runs work for the same key one after the other; other keys are not held up. */
export type SingleFlight = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function createSingleFlight(): SingleFlight {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}
