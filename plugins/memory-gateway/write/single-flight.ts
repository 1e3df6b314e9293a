/** Runs the first work of a key alone; what comes for the same key meanwhile waits for it to end, and then runs. */
export type SingleFlight = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function createSingleFlight(): SingleFlight {
  const flights = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const first = flights.get(key);
    if (first !== undefined) {
      // Whatever became of the first: the others find what it left.
      await first.catch(() => {});
      return work();
    }
    const mine = work();
    flights.set(key, mine);
    try {
      return await mine;
    } finally {
      flights.delete(key);
    }
  };
}
