import { join } from 'node:path';
import { createControl } from '../control/control.js';
import { openDatabase } from '../database/index.js';
import { currentMark } from '../kernel/attribution.js';
import type { CatalogueEntry } from '../kernel/catalogue.js';
import type { KernelDeps, KernelMetrics } from '../kernel/deps.js';
import { Kernel } from '../kernel/kernel.js';
import { BootJournal } from '../process/boot-journal.js';
import { createScheduler } from '../schedule/index.js';
import { createSchemaCompiler, loadSchema } from '../schema/index.js';
import type { CompiledSchema } from '../schema/types.js';
import type { Finding, PluginControl } from '../sdk/host/plugin-control.js';
import { extensionPoints } from '../sdk/points/declarations.js';
import { openPluginsFile } from '../settings/index.js';
import type { Desired, PluginsFile, Settings, SettingsSource } from '../settings/types.js';
import { createLogSink, createMetrics, createTracing } from '../telemetry/index.js';
import type { HostMetrics, LogSink } from '../telemetry/types.js';
import { Composition, parts } from './composition.js';
import { makeDataDir } from './data-folders.js';
import { createStorageAlarm, databaseFindings, lossAlert, lossFindings } from './database-alarm.js';
import { onlyPlugins, openDesiredState } from './desired-state.js';
import { SeenFiles } from './file-edits.js';
import { hostServices, openPluginScope } from './plugin-scope.js';
import { openProjectSettings, pluginFolders } from './project-files.js';

export interface CoreOptions extends SettingsSource {
  /** Plugins that do not come from folders. */
  readonly extraEntries?: readonly CatalogueEntry[];
  /** Only required plugins. */
  readonly safeMode?: boolean;
  /** Only these plugins, for a command that needs no others: the process is not seen as a server. */
  readonly only?: readonly string[];
  /** An empty database in memory stands for the configured one: no plugin that runs keeps anything in it. */
  readonly withoutDatabase?: boolean;
  /** How long an unreachable database is tried again, milliseconds. */
  readonly databaseRetryMs?: number;
  /** Where log lines go instead. */
  readonly logTo?: { write(line: string): void };
}

/** The parts of a process that runs plugins, up to the kernel and its control, in the order in which they are opened. */
export function coreParts(options: CoreOptions): Composition {
  const { projectDir, only } = options;
  return sharedParts(options, async (settings) => {
    const { log } = settings.host;
    const sink = createLogSink({ ...log, destination: options.logTo ?? log.destination });
    for (const secret of settings.secrets()) sink.hide(secret);
    settings.onSecret((secret) => sink.hide(secret));
    for (const warning of settings.warnings) sink.log.warn(warning);
    await makeDataDir(settings.host.dataDir);
    return sink;
  })
    .part(parts.storage, (all) => createStorageAlarm((alert) => all.get(parts.settings).raise(alert)))
    .part(
      parts.database,
      async (all) => {
        const { host } = all.get(parts.settings);
        const storage = all.get(parts.storage);
        const used = options.withoutDatabase ? { dialect: 'sqlite' as const, file: ':memory:' } : host.database;
        return openDatabase(used, all.get(parts.log).log, {
          ...(options.databaseRetryMs === undefined ? {} : { retryMs: options.databaseRetryMs }),
          onFull: storage.full,
          onSpace: storage.freed,
          storage: {
            lost: () => raiseLoss(all),
            tablesMissing: () => raiseLoss(all),
            regained: () => all.get(parts.log).log.warn('The database is back, as it was; work continues'),
            replaceable: () => void useOtherStorage(all),
          },
          transactions: {
            currentCall: currentMark,
            onStuck: (plugin, error) =>
              all.get(parts.kernel).fault(plugin, 'transaction_held', new Error(error.message)),
          },
        });
      },
      (database) => database.close(),
    )
    .part(
      parts.desired,
      async (all) => {
        const { log } = all.get(parts.log);
        return openDesiredState(all.get(parts.database), all.get(parts.pluginsFile), projectDir, log);
      },
      (desired) => desired.dispose(),
    )
    .part(
      parts.journal,
      (all) => {
        if (only) return noJournal;
        return BootJournal.open(join(all.get(parts.settings).host.dataDir, 'boot.json'), {
          // The supervisor saw how the last process ended.
          crashed: (options.env ?? process.env).MORTISE_CRASHED === '1',
          wanted: wantedPlugins(all.get(parts.desired).store.current),
        });
      },
      (journal) => journal.close(),
    )
    .part(parts.kernelDeps, async (all) => {
      const database = all.get(parts.database);
      const journal = all.get(parts.journal);
      const { store } = all.get(parts.desired);
      if (journal.crashLoop) {
        const { code, message, fix } = crashLoopFinding;
        all.get(parts.log).log.warn({ code }, `${message} ${fix}`);
      }
      return {
        ...(await kernelDeps(all, options)),
        desired: only ? onlyPlugins(store, only) : store,
        safeMode: options.safeMode === true || journal.crashLoop,
        suspect: (key) => journal.suspect(key),
        clearSuspect: (key) => journal.clearSuspect(key),
        note: (key, step) => journal.note(key, step),
        openScope: (entry) => openPluginScope(all, entry),
        blocker: () => (database.pool().pending > 0 ? database.holder() : undefined),
        findings: async () => [
          ...(journal.crashLoop ? [crashLoopFinding] : []),
          ...(await databaseFindings(database, all.get(parts.storage))),
          ...(all.find(parts.neighbours)?.findings() ?? []),
          ...all.get(parts.settings).findings(),
        ],
      };
    })
    .part(parts.kernel, (all) => new Kernel(all.get(parts.kernelDeps)))
    .part(parts.control, (all) =>
      createControl({
        ...controlDeps(all),
        database: all.get(parts.database),
        replicas: (key) => all.find(parts.replicas)?.of(key),
        waiting: () =>
          [...lossFindings(all.get(parts.database)), ...all.get(parts.storage).findings()]
            .slice(0, 1)
            .map(({ code }): Waiting => ({ key: 'database', state: 'failed', code }))
            .concat(missingPluginsFile(all.get(parts.pluginsFile))),
      }),
    );
}

/**
 * The parts of a process that reads what there is and runs no plugin. Where a team keeps the desired state in its
 * database, it is read and written there, unless only the files are asked for.
 */
export function offlineParts(source: SettingsSource, filesOnly: boolean): Composition {
  const { projectDir } = source;
  return sharedParts(source, (settings) => {
    const sink = createLogSink({ level: 'silent', destination: 'stderr' });
    for (const secret of settings.secrets()) sink.hide(secret);
    return sink;
  })
    .part(
      parts.desired,
      async (all) => {
        const { host } = all.get(parts.settings);
        const { log } = all.get(parts.log);
        const database =
          host.database.dialect === 'postgres' && !filesOnly
            ? await openDatabase(host.database, log, { retryMs: 2_000 })
            : undefined;
        if (database) all.own(() => database.close());
        return openDesiredState(database, all.get(parts.pluginsFile), projectDir, log);
      },
      (desired) => desired.dispose(),
    )
    .part(parts.kernelDeps, async (all) => ({
      ...(await kernelDeps(all, { projectDir })),
      desired: all.get(parts.desired).store,
      safeMode: false,
      suspect: noJournal.suspect,
      clearSuspect: noJournal.clearSuspect,
      note: noJournal.note,
      openScope: () => {
        throw new Error('No plugin runs offline.');
      },
      findings: async () => all.get(parts.settings).findings(),
    }))
    .part(parts.kernel, async (all) => {
      const kernel = new Kernel(all.get(parts.kernelDeps));
      await kernel.look();
      return kernel;
    })
    .part(parts.control, (all) => createControl(controlDeps(all)));
}

type Waiting = ReturnType<PluginControl['waiting']>[number];

/** Without a valid file and a copy of it, it is unknown which plugins are required. */
function missingPluginsFile({ source, problem }: PluginsFile): readonly Waiting[] {
  return source === 'empty' && problem ? [{ key: 'plugins.json', state: 'failed', code: problem.code }] : [];
}

function raiseLoss(all: Composition): void {
  const alert = lossAlert(all.get(parts.database));
  if (alert) all.get(parts.settings).raise(alert);
}

/** Nothing in memory may rely on the lost database: all plugins start again on the one that is there now. */
async function useOtherStorage(all: Composition): Promise<void> {
  const { log } = all.get(parts.log);
  log.warn('Another complete database has taken the place of the lost one; all plugins are started again on it');
  const kernel = all.get(parts.kernel);
  const reopen = (): Promise<void> => all.get(parts.database).storage.reopen();
  await kernel
    .serial(() => kernel.restartAll(reopen))
    .catch((error: unknown) => log.error({ err: error }, 'the other database could not be used'));
}

/** What every process begins with. */
function sharedParts(source: SettingsSource, openLog: (settings: Settings) => LogSink | Promise<LogSink>): Composition {
  return new Composition()
    .part(
      parts.settings,
      async () => {
        const opened = await openProjectSettings(source);
        if (opened.ok) return opened.settings;
        throw new AggregateError(opened.errors, opened.errors.map((error) => error.message).join('\n'));
      },
      (settings) => settings.dispose(),
    )
    .part(
      parts.log,
      (all) => openLog(all.get(parts.settings)),
      (sink) => sink.flush(),
    )
    .part(
      parts.metrics,
      () => createMetrics(),
      (metrics) => metrics.dispose(),
    )
    .part(parts.tracing, () => createTracing())
    .part(
      parts.scheduler,
      (all) =>
        createScheduler({
          onError: (error) => all.get(parts.log).log.error({ error: String(error) }, 'a timer failed'),
        }),
      (scheduler) => scheduler.dispose(),
    )
    .part(
      parts.pluginsFile,
      async (all) => {
        const settings = all.get(parts.settings);
        const { pluginsFile, dataDir } = settings.host;
        return openPluginsFile({ file: pluginsFile, dataDir, settings });
      },
      (file) => file.dispose(),
    )
    .part(
      parts.seenFiles,
      (all) => new SeenFiles(all.get(parts.settings).host),
      (seen) => seen.settled(),
    );
}

type SharedDeps = Omit<
  KernelDeps,
  'desired' | 'safeMode' | 'suspect' | 'clearSuspect' | 'note' | 'openScope' | 'blocker' | 'findings'
>;

/** The other rooms as the kernel sees them. */
async function kernelDeps(all: Composition, { projectDir, extraEntries = [] }: CoreOptions): Promise<SharedDeps> {
  const settings = all.get(parts.settings);
  const scheduler = all.get(parts.scheduler);
  const { log, clean } = all.get(parts.log);
  const { host } = settings;
  const compiler = createSchemaCompiler();
  const compiled = new WeakMap<object, CompiledSchema<unknown>>();
  return {
    log,
    clean,
    clock: scheduler,
    scheduler,
    compile: <T>(schema: Readonly<Record<string, unknown>>, name: string) => {
      const known = compiled.get(schema) ?? compiler.compile(schema, { name });
      compiled.set(schema, known);
      return known as CompiledSchema<T>;
    },
    manifestSchema: await loadSchema(projectDir, 'plugin'),
    points: extensionPoints,
    folders: pluginFolders(host, projectDir),
    extraEntries,
    config: (key, schema) => settings.own(key, schema),
    hostServices,
    tracing: all.get(parts.tracing),
    metrics: kernelMetrics(all.get(parts.metrics).host),
    versions: { mortise: host.version, node: process.versions.node },
  };
}

function kernelMetrics(metrics: HostMetrics): KernelMetrics {
  return {
    call: (point, key, plugin) => {
      const done = metrics.pointCalls.bind({ point, key, plugin, outcome: 'ok' });
      const failed = metrics.pointCalls.bind({ point, key, plugin, outcome: 'error' });
      const duration = metrics.pointDuration.bind({ point, key, plugin });
      return (milliseconds, wrong) => {
        (wrong ? failed : done).add();
        duration.record(milliseconds / 1_000);
      };
    },
  };
}

function controlDeps(
  all: Composition,
): Pick<Parameters<typeof createControl>[0], 'kernel' | 'effective' | 'exportDesired'> {
  return {
    kernel: all.get(parts.kernel),
    effective: (owner) => all.get(parts.settings).effective(owner),
    exportDesired: () => all.get(parts.desired).export(),
  };
}

/** For a process whose crash says nothing about plugins. */
const noJournal = {
  crashLoop: false,
  suspect: () => undefined,
  clearSuspect: () => undefined,
  note: () => () => undefined,
  complete: () => undefined,
  steady: () => undefined,
  close: () => undefined,
} satisfies Pick<BootJournal, keyof BootJournal>;

/** Reported while the crashes of the last starts keep plugins out. */
const crashLoopFinding: Finding = {
  severity: 'error',
  code: 'safe_mode',
  message: 'The server crashed twice in a row soon after its start, so only required plugins are started.',
  fix: 'Disable the plugin that may be the cause (mortise plugin disable <key>), or fix it and release it (mortise plugin release <key>); then start again. After 60 s without a crash the next start is also a full one.',
};

/** The enabled plugins as one text: equal when nothing was changed. */
function wantedPlugins({ plugins }: Desired): string {
  return Object.keys(plugins)
    .filter((key) => plugins[key]?.enabled)
    .sort()
    .join(' ');
}
