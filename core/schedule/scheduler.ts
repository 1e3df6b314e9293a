import { schedule } from 'node-cron';
import { createDrain, type Disposable, MortiseError, type ScheduleService } from '../sdk/index.js';

/** The clocks that intervals use; tests pass their own. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Monotonic milliseconds. */
  monotonic(): number;
  /** Runs once after `ms`; does not keep the process alive. */
  after(ms: number, run: () => void): Disposable;
}

/** Intervals and cron schedules. All are disposable and none keeps the process alive. */
export interface Scheduler extends ScheduleService, Disposable {
  /**
   * Runs at every multiple of `ms` after now. One run at a time: ticks during a run become a single run immediately
   * after it, and the grid does not move. Errors of `run` go to `onError`.
   * @throws MortiseError `invalid_interval`.
   */
  every(ms: number, run: () => unknown): Disposable;
  /**
   * Runs on a node-cron schedule; the grammar and the behaviour at clock changes are node-cron's: five fields or six with
   * leading seconds, both day fields must match, and a local time that a clock change skips does not run. One run at a
   * time: slots during a run, or while the process was busy, become a single run. Missed slots are not run after a
   * restart.
   * @throws MortiseError `invalid_cron` or `invalid_zone`.
   */
  cron(expression: string, zone: string, run: () => unknown): Disposable;
}

export interface SchedulerOptions {
  readonly clock?: Clock;
  /** Receives the errors of runs. */
  readonly onError?: (error: unknown) => void;
}

/** The limit of setTimeout; a longer wait uses several timers. */
const LONGEST_TIMEOUT_MS = 2_147_483_647;

/** The machine's clocks. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const due = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      const left = due - performance.now();
      timer = setTimeout(left > LONGEST_TIMEOUT_MS ? wait : run, Math.max(0, Math.min(left, LONGEST_TIMEOUT_MS)));
      timer.unref();
    };
    wait();
    return { dispose: () => clearTimeout(timer) };
  },
};

export function createScheduler(options: SchedulerOptions = {}): Scheduler {
  const clock = options.clock ?? systemClock;
  const onError = options.onError ?? (() => {});
  const open = new Set<Disposable>();

  function opened(dispose: () => void): Disposable {
    const entry = {
      dispose() {
        if (open.delete(entry)) dispose();
      },
    };
    open.add(entry);
    return entry;
  }

  /** One run at a time; after `stop`, pending requests do nothing. */
  function runnerOf(run: () => unknown): { request(): void; stop(): void } {
    let isStopped = false;
    const { request } = createDrain(() => (isStopped ? undefined : run()), onError);
    return {
      request,
      stop() {
        isStopped = true;
      },
    };
  }

  return {
    now: clock.now,
    monotonic: clock.monotonic,

    every(ms, run) {
      if (!(ms > 0 && Number.isFinite(ms))) {
        throw new MortiseError('invalid_interval', `An interval of ${ms} ms is invalid: it must be greater than 0.`);
      }
      const runner = runnerOf(run);
      const start = clock.monotonic();
      let ticks = 0;
      let timer: Disposable;
      const plan = (): void => {
        // Planned on the grid, so that a late tick does not move the following ones. Timers may also be slightly early, so
        // ticks are counted instead of derived from the time.
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
      checkZone(zone);
      const runner = runnerOf(run);
      const task = startTask(expression, zone, runner.request, onError);
      return opened(() => {
        runner.stop();
        // `stop()` would leave the task in node-cron's registry.
        void task.destroy();
      });
    },

    dispose() {
      for (const entry of [...open]) void entry.dispose();
    },
  };
}

/** Checks the zone first, because node-cron's error has no code. */
function checkZone(zone: string): void {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone });
  } catch (error) {
    throw new MortiseError('invalid_zone', `"${zone}" is not an IANA time zone.`, {
      status: 400,
      hint: 'Use a name such as UTC, Europe/Berlin or Asia/Shanghai.',
      cause: error,
    });
  }
}

function startTask(expression: string, zone: string, run: () => void, onError: (error: unknown) => void) {
  try {
    const task = schedule(expression, run, {
      timezone: zone,
      unref: true,
      logger: {
        info() {},
        warn() {},
        error: (message, cause) => onError(cause ?? message),
        debug() {},
      },
    });
    // A slot that is more than a second late counts as missed, e.g. after the machine was suspended: it runs once.
    task.on('execution:missed', run);
    return task;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MortiseError('invalid_cron', `invalid cron expression: ${reason}`, {
      status: 400,
      hint: 'Write five fields: minute hour day-of-month month day-of-week, for example "30 2 * * mon-fri".',
      cause: error,
    });
  }
}
