import { setTimeout as sleep } from 'node:timers/promises';

type Condition = () => boolean | Promise<boolean>;

/** Long enough for a busy machine; only a failing test waits this long. */
const LIMIT_MS = 30_000;
/** The first and the longest poll interval. */
const POLL_MS = { first: 5, max: 50 } as const;

/**
 * Polls a condition until it holds.
 *
 * @param what names the condition in the error; its source text by default
 * @param ms limit in milliseconds
 * @throws Error when the condition does not hold within the limit
 * @example await until('the reply', () => sent.length === 1);
 */
export async function until(holds: Condition, ms?: number): Promise<void>;
export async function until(what: string | (() => string), holds: Condition, ms?: number): Promise<void>;
export async function until(
  ...args: [Condition, number?] | [string | (() => string), Condition, number?]
): Promise<void> {
  const [what, holds, ms = LIMIT_MS] = typeof args[1] === 'function' ? args : [String(args[0]), args[0], args[1]];
  const begun = performance.now();
  const deadline = begun + (ms as number);
  while (!(await (holds as Condition)())) {
    if (performance.now() > deadline) {
      throw new Error(`Not within ${ms} ms: ${typeof what === 'function' ? what() : what}`);
    }
    // Longer intervals, because a condition may send a request, and many would slow down the awaited work.
    await sleep(Math.min(POLL_MS.max, POLL_MS.first + (performance.now() - begun) / 20));
  }
}
