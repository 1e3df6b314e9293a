import { type Disposable, MortiseError } from '../sdk/index.js';
import { systemClock } from './clock.js';
import { nextRun } from './next-run.js';
import { oneAtATime } from './one-at-a-time.js';
import type { Clock, Scheduler } from './types.js';

export interface SchedulerOptions {
  readonly clock?: Clock;
  /** What a run threw. */
  readonly onError?: (error: unknown) => void;
}

interface CronEntry {
  due: number;
  /** Works the next moment out anew. */
  plan(now: number): void;
  tick(now: number): void;
}

/** Timers of the host. All share one beat per second for cron, and none keeps the process alive. */
export function createScheduler(options: SchedulerOptions = {}): Scheduler {
  const clock = options.clock ?? systemClock;
  const onError = options.onError ?? (() => {});
  const open = new Set<Disposable>();
  const crons = new Set<CronEntry>();
  let beat: Disposable | undefined;
  let lastBeat = 0;

  function opened(dispose: () => void): Disposable {
    const entry = {
      dispose() {
        if (open.delete(entry)) dispose();
      },
    };
    open.add(entry);
    return entry;
  }

  function beatWhileNeeded(): void {
    if (crons.size > 0 && beat === undefined) {
      beat = clock.eachSecond(() => {
        const now = clock.now();
        const setBack = now < lastBeat - 1_000;
        lastBeat = now;
        for (const entry of crons) {
          if (setBack) entry.plan(now);
          else if (entry.due <= now) entry.tick(now);
        }
      });
    } else if (crons.size === 0) {
      void beat?.dispose();
      beat = undefined;
    }
  }

  return {
    now: clock.now,
    monotonic: clock.monotonic,
    next: nextRun,

    every(ms, run) {
      if (!(ms > 0 && Number.isFinite(ms))) {
        throw new MortiseError(
          'invalid_interval',
          `An interval of ${ms} ms is not possible: it must be greater than 0.`,
        );
      }
      const runner = oneAtATime(run, onError);
      const start = clock.monotonic();
      let ticks = 0;
      let timer: Disposable;
      const plan = (): void => {
        // Aimed at the grid, not at "ms from now": lateness of one tick never moves the following ones. Timers may also
        // be a fraction early, so a tick is counted, not derived from the time.
        const passed = clock.monotonic() - start;
        ticks = Math.max(ticks, Math.floor(passed / ms)) + 1;
        timer = clock.after(ticks * ms - passed, tick);
      };
      const tick = (): void => {
        plan();
        runner.request();
      };
      plan();
      return opened(() => {
        runner.stop();
        void timer.dispose();
      });
    },

    cron(expression, zone, run) {
      const runner = oneAtATime(run, onError);
      const entry: CronEntry = {
        due: nextRun(expression, zone, clock.now()),
        tick(now) {
          runner.request();
          entry.plan(now);
        },
        plan(now) {
          try {
            entry.due = nextRun(expression, zone, now);
          } catch (error) {
            // The expression's last moment has passed, e.g. far beyond its horizon: it rests, the others go on.
            entry.due = Number.POSITIVE_INFINITY;
            onError(error);
          }
        },
      };
      crons.add(entry);
      beatWhileNeeded();
      return opened(() => {
        runner.stop();
        crons.delete(entry);
        beatWhileNeeded();
      });
    },

    dispose() {
      for (const entry of [...open]) void entry.dispose();
    },
  };
}
