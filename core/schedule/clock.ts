import { schedule } from 'node-cron';
import type { Clock } from './types.js';

/** setTimeout's own limit; a longer wait is made of several. */
const longestTimeout = 2_147_483_647;

const silent = { info() {}, warn() {}, error() {}, debug() {} };

/** The machine's clocks. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const due = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      const left = due - performance.now();
      timer = setTimeout(left > longestTimeout ? wait : run, Math.max(0, Math.min(left, longestTimeout)));
      timer.unref();
    };
    wait();
    return { dispose: () => clearTimeout(timer) };
  },
  eachSecond(run) {
    // node-cron only beats the second: which moments are slots is decided by our own computation, so that they do not
    // depend on the version of a library.
    const task = schedule('* * * * * *', run, { unref: true, logger: silent, suppressMissedWarning: true });
    return {
      dispose() {
        void task.destroy();
      },
    };
  },
};
