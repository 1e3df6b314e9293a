import type { DatabaseHost } from '../database/index.js';
import type { Kernel } from '../kernel/kernel.js';
import type { HostLogger, HostMetrics } from '../telemetry/types.js';

/** Shows the plugins, their calls, the database's connections and alerts in the metrics, and alerts in the log. */
export function observeKernel(
  kernel: Kernel,
  database: Pick<DatabaseHost, 'pool'>,
  metrics: HostMetrics,
  log: HostLogger,
): void {
  metrics.observePluginState(() => kernel.records().map(({ key, state }) => ({ labels: { key, state }, value: 1 })));
  metrics.observePointInflight(() =>
    kernel.registry
      .everything()
      .map(({ point, key, plugin, stats }) => ({ labels: { point, key, plugin }, value: stats.inFlight })),
  );
  metrics.observeDatabasePool(() => {
    const { used, free, pending } = database.pool();
    return Object.entries({ used, free, waiting: pending }).map(([state, value]) => ({ labels: { state }, value }));
  });
  kernel.events.on('alert', ({ source, severity, code, message }) => {
    metrics.alerts.add(1, { source: source.split(':')[0] ?? source, severity, code });
    log.warn({ source, severity, code }, `alert: ${message}`);
  });
}
