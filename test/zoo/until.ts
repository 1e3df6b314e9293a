/** Looks again and again until a condition holds. @throws after `ms`, with what `why` says then. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  ms = 10_000,
  why: () => string = () => 'it did not happen',
): Promise<void> {
  const end = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`${why()} (after ${ms} ms)`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
