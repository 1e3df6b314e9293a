import { join } from 'node:path';
import { createControl } from '../control/control.js';
import { type DatabaseHost, openDatabase } from '../database/index.js';
import { Composition } from '../di/composition.js';
import { createLazyFetch } from '../di/lazy-fetch.js';
import { parts } from '../di/parts.js';
import { openPluginScope } from '../di/plugin-scope.js';
import { createHttpServer, type HttpServer } from '../http/index.js';
import { currentMark } from '../kernel/attribution.js';
import type { CatalogueEntry } from '../kernel/catalogue.js';
import { Kernel } from '../kernel/kernel.js';
import type { Unfinished } from '../kernel/shutdown-deadline.js';
import { BootJournal, steadyAfterMs } from '../process/boot-journal.js';
import { guardProcess } from '../process/process-guard.js';
import { watchRawResources } from '../process/raw-resources.js';
import { createScheduler } from '../schedule/index.js';
import { keepValidators, loadSchema } from '../schema/index.js';
import type { Disposable } from '../sdk/context.js';
import type { Finding, PluginControl } from '../sdk/host/plugin-control.js';
import { openPluginsFile, openSettings } from '../settings/index.js';
import type { Settings } from '../settings/types.js';
import { createLogSink, createMetrics, createTracing } from '../telemetry/index.js';
import type { HostLogger, MetricsRegistry } from '../telemetry/types.js';
import { auditFileEdits } from './audit-file-edits.js';
import { crashLoopFinding, wantedPlugins } from './crash-loop.js';
import { databaseFindings } from './database-findings.js';
import { onlyPlugins, openDesiredState } from './desired-state.js';
import { kernelPorts, noJournal } from './kernel-ports.js';
import { linkDroppedInPlugins } from './link-dropped-in-plugins.js';
import { makeDataDir } from './make-data-dir.js';
import { mountRoutes } from './mount-routes.js';
import { numberOf } from './number-of.js';
import { observeKernel } from './observe-kernel.js';
import { whoHasPort } from './own-port.js';
import { shareStates } from './replica-states.js';
import { SeenFiles } from './seen-files.js';
import { createStorageAlarm } from './storage-alarm.js';
import { watchFolder } from './watch-folder.js';
import { watchNeighbours } from './watch-neighbours.js';
import { watchProcess } from './watch-process.js';

export interface AppOptions {
  readonly projectDir: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Plugins that do not come from folders. */
  readonly extraEntries?: readonly CatalogueEntry[];
  /** Only required plugins. */
  readonly safeMode?: boolean;
  /** Only these plugins, for a command that needs no others: nobody else is told that they run. */
  readonly only?: readonly string[];
  /** The process belongs to the app: uncaught errors, process.exit and endless loops are guarded. */
  readonly ownsProcess?: boolean;
  /** Where log lines go instead. */
  readonly logTo?: { write(line: string): void };
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
  /** Answers no new requests, lets what runs finish, and has given everything back by `deadline` (epoch milliseconds). */
  stop(deadline: number): Promise<StopReport>;
}

export interface StopReport {
  /** Something had to be cut short. */
  readonly degraded: boolean;
  /** What plugins had not ended when the time was over. */
  readonly unfinished: readonly Unfinished[];
}

/** Opens settings, database and port owners in order, and composes them with the kernel. @throws MortiseError */
export async function openApp(options: AppOptions): Promise<App> {
  keepValidators(join(options.projectDir, '.runtime', 'validators'));
  const opened = await openSettings({
    projectDir: options.projectDir,
    ...(options.env ? { env: options.env } : {}),
    ...(options.cwd ? { cwd: options.cwd } : {}),
  });
  if (!opened.ok) throw new AggregateError(opened.errors, opened.errors.map((error) => error.message).join('\n'));
  const { settings } = opened;
  const { host } = settings;
  const sink = createLogSink({ ...host.log, destination: options.logTo ?? host.log.destination });
  for (const secret of settings.secrets()) sink.hide(secret);
  settings.onSecret((secret) => sink.hide(secret));
  for (const warning of settings.warnings) sink.log.warn(warning);
  await makeDataDir(host.dataDir);

  const metrics = createMetrics();
  const tracing = createTracing();
  const scheduler = createScheduler({ onError: (error) => sink.log.error({ error: String(error) }, 'a timer failed') });
  const storage = createStorageAlarm((alert) => settings.raise(alert));
  const database = await openDatabase(host.database, sink.log, {
    onFull: storage.full,
    onSpace: storage.mended,
    transactions: {
      currentCall: currentMark,
      onStuck: (plugin, error) => kernel.fault(plugin, 'transaction_held', new Error(error.message)),
    },
  });
  const pluginsFile = await openPluginsFile({ file: host.pluginsFile, dataDir: host.dataDir, settings });
  const composition = new Composition();
  const desired = await openDesiredState(database, pluginsFile, options.projectDir, sink.log);
  const journal = options.only
    ? noJournal
    : BootJournal.open(join(host.dataDir, 'boot.json'), {
        // The supervisor saw how the last process ended.
        crashed: (options.env ?? process.env).MORTISE_CRASHED === '1',
        wanted: wantedPlugins(desired.store.current),
      });
  const neighbours =
    database.dialect === 'sqlite' && !options.only
      ? await watchNeighbours({ instances: database.instances, dataDir: host.dataDir, log: sink.log })
      : undefined;
  const hostFindings: Finding[] = [];
  if (journal.crashLoop) {
    hostFindings.push(crashLoopFinding);
    sink.log.warn({ code: crashLoopFinding.code }, `${crashLoopFinding.message} ${crashLoopFinding.fix}`);
  }
  const kernel = new Kernel(
    kernelPorts({
      settings,
      manifestSchema: await loadSchema(options.projectDir, 'plugin'),
      projectDir: options.projectDir,
      extraEntries: options.extraEntries ?? [],
      safeMode: options.safeMode === true || journal.crashLoop,
      journal,
      metrics: metrics.host,
      tracing,
      log: sink.log,
      clean: sink.clean,
      scheduler,
      desired: options.only ? onlyPlugins(desired.store, options.only) : desired.store,
      openScope: (entry) => openPluginScope(composition, entry),
      blocker: () => (database.pool().pending > 0 ? database.holder() : undefined),
      findings: async () => [
        ...hostFindings,
        ...(await databaseFindings(database, storage)),
        ...(neighbours?.findings() ?? []),
      ],
    }),
  );
  const replicas =
    desired.shared && !options.only ? shareStates(kernel, desired.shared, database.instances, sink.log) : undefined;
  const control = createControl({
    kernel,
    effective: (owner) => settings.effective(owner),
    exportDesired: () => desired.export(),
    database,
    waiting: () => storage.findings().map(({ code }) => ({ key: 'database', state: 'failed', code })),
    ...(replicas ? { replicas: (key) => replicas.of(key) } : {}),
  });
  const http = createHttpServer(host.http, {
    log: sink.log,
    metrics: metrics.host,
    tracing,
    emitRefusal: (refusal) => kernel.events.emit('refusal', refusal),
    sseKeepAliveSeconds: numberOf(settings.variable('MORTISE_SSE_KEEPALIVE_SECONDS'), 15),
    setting: (plugin, name) =>
      kernel.isEnabled(plugin) ? kernel.record(plugin)?.config?.snapshot?.config[name] : undefined,
  });
  const outward = createLazyFetch({ allowPrivate: host.allowPrivateUrls });
  composition
    .value(parts.settings, settings)
    .value(parts.log, sink)
    .value(parts.metrics, metrics)
    .value(parts.tracing, tracing)
    .value(parts.scheduler, scheduler)
    .value(parts.database, database)
    .value(parts.http, http)
    .value(parts.fetch, outward)
    .value(parts.pluginsFile, pluginsFile)
    .value(parts.kernel, kernel)
    .factory(parts.control, () => control)
    .seal();

  observeKernel(kernel, database, metrics.host, sink.log);
  metrics.host.observeDroppedLines(sink.dropped);
  const seen = new SeenFiles(host);
  const know = (path: string): void => void seen.know(path).catch(() => undefined);
  settings.onWrite(know);
  // What replicas share is changed by them and by commands, which say so themselves.
  if (!desired.shared) {
    pluginsFile.onEdit((next, previous) => {
      const changes = Object.keys({ ...previous.plugins, ...next.plugins })
        .map((key) => ({ key, enabled: next.plugins[key]?.enabled === true }))
        .filter(({ key, enabled }) => enabled !== (previous.plugins[key]?.enabled === true));
      if (changes.length === 0) return;
      kernel.events.emit('plugins-edited', { changes });
      know(pluginsFile.file);
    });
  }
  settings.onAlert((alert) => kernel.events.emit('alert', alert));

  const held: Disposable[] = [];
  let mounted = false;
  // A table for each plugin that starts would be thrown away at once: routes are mounted when someone can ask for them.
  const mount = (): void => {
    if (mounted) return;
    mounted = true;
    held.push(mountRoutes(kernel, http));
  };
  if (options.ownsProcess) {
    watchRawResources();
    held.push({
      dispose: guardProcess({
        log: sink.log,
        folders: () => kernel.folders(),
        fault: (plugin, code, error) => kernel.fault(plugin, code, error),
        onHostFault: (error) => options.onHostFault?.(error),
      }),
    });
  }

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
      if (options.ownsProcess) held.push(watchProcess(settings, kernel));
      const looked = options.only ? undefined : seen.look();
      await kernel.boot();
      mount();
      if (looked) await auditFileEdits(await looked, kernel, sink.log);
      journal.complete();
      const steady = setTimeout(() => journal.steady(), steadyAfterMs).unref();
      held.push({ dispose: () => clearTimeout(steady) });
      held.push(
        watchFolder(host.pluginsDir, () => void kernel.serial(() => kernel.reconcile()).catch(() => undefined)),
      );
      settings.watch();
    },
    listen: async () => {
      mount();
      return http.listen().catch((error: unknown) => {
        throw whoHasPort(error, host.http.port);
      });
    },
    stop: async (deadline) => {
      const spare = timeAfterRequests(deadline - Date.now());
      kernel.events.emit('shutdown', { deadline: deadline - spare });
      const requests = await http.drain(deadline - spare, spare / 2);
      await kernel.drain(deadline);
      const unfinished = await kernel.shutdown(deadline);
      for (const item of held.reverse()) await item.dispose();
      await http.close();
      await outward.close();
      await scheduler.dispose();
      await neighbours?.dispose();
      await replicas?.dispose();
      await desired.dispose();
      await pluginsFile.dispose();
      await settings.dispose();
      await database.close();
      journal.close();
      metrics.dispose();
      sink.flush();
      return { degraded: requests === 'degraded' || unfinished.length > 0, unfinished };
    },
  };
}

/** What requests leave of the time to stop, for queues, replies and plugins: at most a third of it, and two seconds. */
function timeAfterRequests(ms: number): number {
  return Math.min(Math.max(ms, 0) / 3, 2_000);
}
