import { join } from 'node:path';
import { type CommandFacts, type PluginDefinition, whenServing } from 'mortise/sdk';
import { DatabaseClock } from './clock.js';
import { commandRows, cronCommand } from './commands/cron-commands.js';
import type { Config } from './config.generated.js';
import type { CronDeps } from './cron-deps.js';
import { cronMetrics } from './metrics.js';
import { cronMigrations } from './migrations.js';
import { CronOperations } from './operations.js';
import { eventsRoute } from './routes/events-route.js';
import {
  deleteJobRoute,
  jobStateRoute,
  listJobsRoute,
  pauseRoute,
  previewRoute,
  readJobRoute,
  replaceJobRoute,
  runJobRoute,
  saveJobRoute,
} from './routes/job-routes.js';
import { cancelRunRoute, listRunsRoute, listSlotsRoute, readRunRoute } from './routes/run-routes.js';
import { RunEvents } from './run-events.js';
import { Scheduler } from './scheduler.js';
import { prune } from './store/prune.js';
import { ensureDefaultJob } from './store/write-jobs.js';
import { nodeTypes } from './workflow/node-types.js';

const everySecond = '* * * * * *';
const everyNight = '17 3 * * *';
const silenceMs = 3_000;
const sampleMs = 60_000;
/** Milliseconds for runs to end when the plugin is stopped alone. */
const stopMs = 20_000;

/** Scheduled agent work. */
export default function cron(): PluginDefinition<Config> {
  return {
    key: 'cron',
    async start(host) {
      const { config } = host;
      const database = host.use('database');
      const schedule = host.use('schedule');
      const http = host.use('http');
      const turns = host.watch('turns');
      const channels = host.watch('channels');
      await database.migrate(cronMigrations);
      const clock = new DatabaseClock(database, schedule);
      await clock.sample();
      const events = host.own(new RunEvents(database, host.log, (event) => host.emit('cron-event', event)));
      await events.listen();
      const deps: CronDeps = {
        database,
        clock,
        log: host.log,
        instances: host.use('instances'),
        points: host.points,
        types: nodeTypes(host.points, host.use('schemas')),
        ownerNow: http.asConfigured,
        sessions: host.use('sessions'),
        turns: () => turns.current,
        channels: () => channels.current,
        metrics: cronMetrics(host.use('metrics'), database, () => scheduler.running),
        events,
        alert: (alert) => host.emit('alert', alert),
        leaseFolder: join(host.use('settings').dataDir, 'cron-leases'),
        leaseMs: config.lease_seconds * 1_000,
        maxRuns: config.max_runs,
        alertAfterFailures: config.alert_after_failures,
      };
      const scheduler = new Scheduler(deps, { executes: config.enabled });
      const operations = new CronOperations(deps, scheduler);
      await ensureDefaultJob(deps);
      await scheduler.listen((disposable) => host.own(disposable));

      // A process started for one command executes nothing.
      whenServing(host, http, async () => {
        host.every(sampleMs, () => clock.sample());
        host.every(deps.leaseMs / 3, () => scheduler.renewLeases());
        host.every(silenceMs, () => scheduler.tickAfterSilence(silenceMs));
        host.cron(everySecond, 'UTC', () => scheduler.tick());
        host.cron(everyNight, 'UTC', async (signal) => {
          const lease = await host.use('leases').tryAcquire('cron:prune');
          if (!lease) return;
          await prune(deps, { runDays: config.run_retention_days, slotDays: config.slot_retention_days }, signal);
          await lease.dispose();
        });
        await scheduler.tick();
      });

      host.provide('cron', {
        save: (body, { principal }) => operations.save(principal, body),
        export: ({ principal }, isRevealed) => operations.export(principal, isRevealed),
        parse: (jobs, { principal }) => operations.parse(principal, jobs),
        replaceAll: (jobs, { principal }, options) => operations.replaceAll(principal, jobs, options),
      });
      for (const [name, row] of Object.entries(commandRows)) {
        const key = `cron-${name}`;
        host.contribute('command', key, cronCommand(host.facts('command', key) as CommandFacts, row, operations));
      }
      host.contribute('route', 'cron-list-jobs', listJobsRoute(operations));
      host.contribute('route', 'cron-save-job', saveJobRoute(operations));
      host.contribute('route', 'cron-read-job', readJobRoute(operations));
      host.contribute('route', 'cron-replace-job', replaceJobRoute(operations));
      host.contribute('route', 'cron-delete-job', deleteJobRoute(operations));
      host.contribute('route', 'cron-pause-job', pauseRoute(operations, true));
      host.contribute('route', 'cron-resume-job', pauseRoute(operations, false));
      host.contribute('route', 'cron-run-job', runJobRoute(operations));
      host.contribute('route', 'cron-job-state', jobStateRoute(operations));
      host.contribute('route', 'cron-list-runs', listRunsRoute(operations));
      host.contribute('route', 'cron-list-slots', listSlotsRoute(operations));
      host.contribute('route', 'cron-read-run', readRunRoute(operations));
      host.contribute('route', 'cron-cancel-run', cancelRunRoute(operations));
      host.contribute('route', 'cron-preview', previewRoute(operations));
      host.contribute('route', 'cron-events', eventsRoute({ events, operations, host }));

      return {
        // Runs end while all other plugins still run.
        drain: (until) => scheduler.stop(until - schedule.now()),
        stop: () => scheduler.stop(stopMs),
      };
    },
  };
}
