import type { Database, MetricsService } from 'mortise/sdk';
import type { CronRun } from './contract/index.js';

/** Counters and times of the scheduler. */
export interface CronMetrics {
  slots(outcome: string, count: number): void;
  started(trigger: CronRun['trigger'], lateSeconds: number): void;
  finished(status: string, seconds: number): void;
  tick(seconds: number): void;
}

export function cronMetrics(metrics: MetricsService, database: Database, running: () => number): CronMetrics {
  const slots = metrics.counter('mortise_cron_slots_total', 'Slots decided, by outcome or reason.', ['outcome']);
  const started = metrics.counter('mortise_cron_runs_started_total', 'Runs started, by trigger.', ['trigger']);
  const finished = metrics.counter('mortise_cron_runs_finished_total', 'Runs finished, by status.', ['status']);
  const late = metrics.histogram('mortise_cron_late_seconds', 'Seconds from slot to start.', [], lateBuckets);
  const duration = metrics.histogram('mortise_cron_run_seconds', 'Seconds from start to end of a run.');
  const tick = metrics.histogram('mortise_cron_tick_seconds', 'Seconds of one tick.', [], tickBuckets);
  metrics.observe('mortise_cron_running', 'Runs of this process.', [], () => [{ labels: {}, value: running() }]);
  metrics.observe('mortise_cron_queued', 'Queued runs of all processes.', [], async () => {
    const { rows } = await database.statement<{ count: number }>(
      "select count(*) as count from {cron.runs} where status = 'queued'",
    );
    return [{ labels: {}, value: Number(rows[0]?.count ?? 0) }];
  });
  return {
    slots: (outcome, count) => slots.add(count, { outcome }),
    started(trigger, lateSeconds) {
      started.add(1, { trigger });
      if (trigger === 'schedule') late.record(Math.max(0, lateSeconds));
    },
    finished(status, seconds) {
      finished.add(1, { status });
      duration.record(seconds);
    },
    tick: (seconds) => tick.record(seconds),
  };
}

const lateBuckets = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const tickBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];
