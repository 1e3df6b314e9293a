import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Looks again and again until something is so that another party brings about.
 *
 * @param what is waited for, as the error calls it
 * @throws when it is not so after `ms`
 * @example await until('the reply', () => sent.length === 1);
 */
export async function until(what: string, holds: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited too long for: ${what}`);
    await sleep(5);
  }
}
