import { setTimeout as sleep } from 'node:timers/promises';
import type { CronNode, CronNodeFacts, JsonObject } from 'mortise/sdk';

/** Longest wait of one timer, milliseconds. */
const maxTimerMs = 2_147_483_647;

/** Waits. A delay that was interrupted by a crash waits for what remains of it. */
export function delayNode(facts: CronNodeFacts): CronNode {
  return {
    ...facts,
    validate: (params) =>
      secondsOf(params) >= 0 ? undefined : { predicate: 'delay_seconds must be greater than or equal to 0' },
    async run(params, { signal, nodeElapsedMs }) {
      // Setting the clock does not affect the wait.
      const until = performance.now() + secondsOf(params) * 1_000 - nodeElapsedMs;
      for (let left = until - performance.now(); left > 0; left = until - performance.now()) {
        await sleep(Math.min(left, maxTimerMs), undefined, { signal });
      }
      return {};
    },
  };
}

function secondsOf({ delay_seconds: seconds = 0 }: JsonObject): number {
  return typeof seconds === 'number' ? seconds : Number.NaN;
}
