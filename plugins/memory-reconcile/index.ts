import { type PluginDefinition, whenServing } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { reconcileOnSchedule } from './reconcile.js';
import { reconcileCommand } from './reconcile-command.js';

/** Compares outbox, audit trail and backend, on command and on a schedule. */
export default function memoryReconcile(): PluginDefinition<Config> {
  return {
    key: 'memory-reconcile',
    start(host) {
      const deps = {
        database: host.use('database'),
        logbook: host.use('logbook'),
        audit: host.use('audit'),
        memory: host.use('memory'),
        log: host.log,
      };
      host.contribute('command', 'memory-reconcile', reconcileCommand(host.facts('command', 'memory-reconcile'), deps));

      const { interval_seconds: interval } = host.config;
      if (interval === 0) return;
      const schedule = { leases: host.use('leases'), raise: (alert) => host.emit('alert', alert) } satisfies Parameters<
        typeof reconcileOnSchedule
      >[1];
      whenServing(host, host.use('http'), () => {
        host.every(interval * 1_000, (signal) => reconcileOnSchedule(deps, schedule, signal));
      });
    },
  };
}
