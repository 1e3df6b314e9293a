import { setTimeout as delay } from 'node:timers/promises';

/** Asks again until it is so; fails after `limitMs`. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, limitMs = 10_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`Not within ${limitMs} ms: ${what}`);
    await delay(10);
  }
}
