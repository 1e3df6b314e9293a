import type { Clock } from '../scheduler.js';

/** A clock that a test advances by hand. */
interface ManualClock extends Clock {
  /** Advances and runs what falls due in order; waits for the promises of each step. */
  advance(ms: number): Promise<void>;
}

interface Waiting {
  readonly due: number;
  readonly run: () => void;
}

/** Starts at a wall time, epoch milliseconds. */
export function createManualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  let wall = start;
  let elapsed = 0;
  let waiting: Waiting[] = [];

  function after(ms: number, run: () => void) {
    const entry = { due: elapsed + Math.max(0, ms), run };
    waiting.push(entry);
    return {
      dispose() {
        waiting = waiting.filter((other) => other !== entry);
      },
    };
  }

  async function settle(): Promise<void> {
    for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  return {
    now: () => wall,
    monotonic: () => elapsed,
    after,
    async advance(ms) {
      const end = elapsed + ms;
      for (;;) {
        const next = waiting.filter((entry) => entry.due <= end).sort((a, b) => a.due - b.due)[0];
        const to = next?.due ?? end;
        wall += to - elapsed;
        elapsed = to;
        if (next === undefined) break;
        waiting = waiting.filter((entry) => entry !== next);
        next.run();
        await settle();
      }
      await settle();
    },
  };
}
