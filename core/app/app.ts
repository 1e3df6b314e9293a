import { join } from 'node:path';
import type { DatabaseHost } from '../database/index.js';
import { createHttpServer, type HttpServer } from '../http/index.js';
import type { Kernel } from '../kernel/kernel.js';
import type { Unfinished } from '../kernel/shutdown-deadline.js';
import { steadyAfterMs } from '../process/boot-journal.js';
import { guardProcess } from '../process/process-guard.js';
import { listenerOn, watchRawResources } from '../process/raw-resources.js';
import { startWatchdog } from '../process/watchdog.js';
import { isCodedError, MortiseError } from '../sdk/errors.js';
import type { PluginControl } from '../sdk/host/plugin-control.js';
import type { Settings } from '../settings/types.js';
import type { HostLogger, MetricsRegistry } from '../telemetry/types.js';
import { type Composition, parts } from './composition.js';
import { type CoreOptions, coreParts } from './core-parts.js';
import { linkDroppedInPlugins, watchFolder } from './data-folders.js';
import { reportEdits, reportOfflineEdits } from './file-edits.js';
import { mountRoutes } from './mount-routes.js';
import { createLazyFetch } from './plugin-scope.js';
import { processRoutes } from './process-routes.js';
import { shareStates, watchNeighbours } from './replicas.js';

interface AppOptions extends CoreOptions {
  /** The process belongs to the app: uncaught errors, process.exit and endless loops are guarded. */
  readonly ownsProcess?: boolean;
  /** Called for an uncaught error that belongs to no plugin. */
  readonly onHostFault?: (error: unknown) => void;
}

/** A composed process: opened, not yet booted. */
export interface App {
  readonly settings: Settings;
  readonly log: HostLogger;
  /** Log lines are written for people: the process runs at a terminal. */
  readonly readable: boolean;
  readonly kernel: Kernel;
  readonly control: PluginControl;
  readonly http: HttpServer;
  readonly database: DatabaseHost;
  readonly metrics: MetricsRegistry;
  /** Starts the plugins; resolves when all have settled. */
  boot(): Promise<void>;
  /** Opens the port. @throws MortiseError */
  listen(): Promise<{ readonly origin: string }>;
  /** Accepts no new requests, lets running ones finish, and has closed everything by `deadline` (epoch milliseconds). */
  stop(deadline: number): Promise<StopReport>;
}

interface StopReport {
  /** Something had to be cut short. */
  readonly degraded: boolean;
  /** What plugins had not ended when the time was over. */
  readonly unfinished: readonly Unfinished[];
}

/** Opens all parts of a process in order; when one fails, those before it are closed again. @throws MortiseError */
export async function openApp(options: AppOptions): Promise<App> {
  const composition = await serverParts(options).open();
  try {
    return startedApp(composition, options);
  } catch (error) {
    await composition.close();
    throw error;
  }
}

function serverParts(options: AppOptions): Composition {
  return coreParts(options)
    .part(
      parts.neighbours,
      async (all) => {
        const { dialect, instances } = all.get(parts.database);
        if (dialect !== 'sqlite' || options.only) return undefined;
        const { dataDir } = all.get(parts.settings).host;
        return watchNeighbours({ instances, dataDir, log: all.get(parts.log).log });
      },
      (neighbours) => neighbours.dispose(),
    )
    .part(
      parts.replicas,
      (all) => {
        const { shared } = all.get(parts.desired);
        if (!shared || options.only) return undefined;
        return shareStates(all.get(parts.kernel), shared, all.get(parts.database).instances, all.get(parts.log).log);
      },
      (replicas) => replicas.dispose(),
    )
    .part(
      parts.fetch,
      (all) => createLazyFetch({ allowPrivate: all.get(parts.settings).host.allowPrivateUrls }),
      (outward) => outward.close(),
    )
    .part(
      parts.http,
      (all) => {
        const settings = all.get(parts.settings);
        return createHttpServer(settings.host.http, {
          log: all.get(parts.log).log,
          metrics: all.get(parts.metrics).host,
          tracing: all.get(parts.tracing),
          emitRefusal: (refusal) => all.get(parts.kernel).events.emit('refusal', refusal),
          sseKeepAliveSeconds: settings.host.sseKeepAliveSeconds,
          setting: (plugin, name) => {
            const kernel = all.get(parts.kernel);
            return kernel.plugins.isEnabled(plugin)
              ? kernel.plugins.record(plugin)?.config?.snapshot?.config[name]
              : undefined;
          },
        });
      },
      (http) => http.close(),
    )
    .part(
      parts.guard,
      (all) => {
        if (!options.ownsProcess) return undefined;
        watchRawResources();
        const kernel = all.get(parts.kernel);
        return guardProcess({
          log: all.get(parts.log).log,
          folders: () => kernel.folders(),
          fault: (plugin, code, error) => kernel.fault(plugin, code, error),
          onHostFault: (error) => options.onHostFault?.(error),
        });
      },
      (undo) => undo(),
    );
}

function startedApp(composition: Composition, options: AppOptions): App {
  const settings = composition.get(parts.settings);
  const sink = composition.get(parts.log);
  const metrics = composition.get(parts.metrics);
  const database = composition.get(parts.database);
  const kernel = composition.get(parts.kernel);
  const control = composition.get(parts.control);
  const http = composition.get(parts.http);
  const journal = composition.get(parts.journal);
  const seen = composition.get(parts.seenFiles);
  const { host } = settings;

  observe(composition);
  settings.onWrite((write) => void seen.know(write).catch(() => undefined));
  // A desired state in the database is changed through the platform only.
  if (!composition.get(parts.desired).shared)
    reportEdits(composition.get(parts.pluginsFile), seen, kernel.events, sink.log);
  settings.onAlert((alert) => kernel.events.emit('alert', alert));
  let mounted = false;
  // Mounting for each plugin that starts would be wasted work: routes are mounted when requests can come.
  const mount = (): void => {
    if (mounted) return;
    mounted = true;
    const { log } = sink;
    const commit = process.env.MORTISE_COMMIT ?? null;
    const own = processRoutes({ version: host.version, commit, control, database, log });
    const routes = mountRoutes(kernel, http, own, composition.get(parts.pluginsFile));
    composition.own(() => routes.dispose());
  };

  return {
    settings,
    log: sink.log,
    readable: sink.readable,
    kernel,
    control,
    http,
    database,
    metrics,
    boot: async () => {
      await linkDroppedInPlugins(host.pluginsDir, options.projectDir);
      if (options.ownsProcess) watchProcess(composition);
      const looked = options.only ? undefined : seen.look();
      await kernel.boot();
      mount();
      if (looked) await reportOfflineEdits(await looked, kernel.events, sink.log);
      journal.complete();
      const steady = setTimeout(() => journal.steady(), steadyAfterMs).unref();
      composition.own(() => clearTimeout(steady));
      const reconcile = (): void => void kernel.serial(() => kernel.reconcile()).catch(() => undefined);
      const folder = watchFolder(host.pluginsDir, reconcile);
      composition.own(() => folder.dispose());
      settings.watch();
    },
    listen: async () => {
      mount();
      return http.listen().catch((error: unknown) => {
        throw explainPort(error, host.http.port);
      });
    },
    stop: async (deadline) => {
      const spare = timeAfterRequests(deadline - Date.now());
      kernel.events.emit('shutdown', { deadline: deadline - spare });
      const requests = await http.drain(deadline - spare, spare / 2);
      await kernel.drain(deadline);
      const unfinished = await kernel.shutdown(deadline);
      await composition.close();
      return { degraded: requests === 'degraded' || unfinished.length > 0, unfinished };
    },
  };
}

/** What requests leave of the time to stop, for queues, replies and plugins: at most a third of it, and two seconds. */
function timeAfterRequests(ms: number): number {
  return Math.min(Math.max(ms, 0) / 3, 2_000);
}

/** Shows plugins, their calls, database connections and alerts in the metrics, and alerts in the log. */
function observe(composition: Composition): void {
  const kernel = composition.get(parts.kernel);
  const database = composition.get(parts.database);
  const { log, dropped } = composition.get(parts.log);
  const { host: metrics } = composition.get(parts.metrics);
  metrics.observePluginState(() =>
    kernel.plugins.records().map(({ key, state }) => ({ labels: { key, state }, value: 1 })),
  );
  metrics.observePointInflight(() =>
    kernel.registry
      .everything()
      .map(({ point, key, plugin, stats }) => ({ labels: { point, key, plugin }, value: stats.inFlight })),
  );
  metrics.observeDatabasePool(() => {
    const { used, free, pending } = database.pool();
    return Object.entries({ used, free, waiting: pending }).map(([state, value]) => ({ labels: { state }, value }));
  });
  metrics.observeDroppedLines(dropped);
  kernel.events.on('alert', ({ source, severity, code, message }) => {
    metrics.alerts.add(1, { source: source.split(':')[0] ?? source, severity, code });
    log.warn({ source, severity, code }, `alert: ${message}`);
  });
}

/** Ends an endless loop in a plugin; 0 seconds turn that off. */
function watchProcess(composition: Composition): void {
  const settings = composition.get(parts.settings);
  const kernel = composition.get(parts.kernel);
  const seconds = numberOf(settings.variable('MORTISE_WATCHDOG_SECONDS'), 10);
  if (seconds <= 0) return;
  const watchdog = startWatchdog({
    seconds,
    journalFile: join(settings.host.dataDir, 'boot.json'),
    folders: () => kernel.folders(),
  });
  kernel.events.on('plugin-state', ({ to }) => {
    if (to === 'checking') watchdog.refresh();
  });
  composition.own(() => watchdog.dispose());
}

/** Names the plugin of this process that listens on the server's port. */
function explainPort(error: unknown, port: number): unknown {
  const plugin = isCodedError(error) && error.code === 'port_in_use' ? listenerOn(port) : undefined;
  if (plugin === undefined) return error;
  return new MortiseError('port_in_use', `The plugin ${plugin} listens on port ${port}, which is the server's own.`, {
    hint: `Give the plugin another port or disable it (mortise plugin disable ${plugin}), or set MORTISE_PORT to a free port.`,
    cause: error,
  });
}

/** The number in a variable; `otherwise` when it holds none, or a negative one. */
function numberOf(text: string | undefined, otherwise: number): number {
  const value = Number(text);
  return text === undefined || !Number.isFinite(value) || value < 0 ? otherwise : value;
}
