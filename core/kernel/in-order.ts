/**
 * Runs `run` for every item, each after those that `before` names for it; items that do not wait for each other run side
 * by side. Nothing may wait for itself.
 */
export async function inOrder<T>(
  items: Iterable<T>,
  before: (item: T) => readonly T[],
  run: (item: T) => Promise<void>,
): Promise<void> {
  const begun = new Map<T, Promise<void>>();
  const begin = (item: T): Promise<void> => {
    const known = begun.get(item);
    if (known) return known;
    const task = (async () => {
      await Promise.all(before(item).map(begin));
      await run(item);
    })();
    begun.set(item, task);
    return task;
  };
  await Promise.all([...items].map(begin));
}
