import { setTimeout as delay } from 'node:timers/promises';
import type { Principal } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import type { PlatformChange } from '../sdk/events.js';
import type { CommandInput, CommandResult } from '../sdk/points/command.js';
import type { FileWrite, SettingsSource } from '../settings/types.js';
import { type App, openApp } from './app.js';
import type { CoreOptions } from './core-parts.js';
import { SeenFiles } from './file-edits.js';
import { type OfflineControl, openOffline } from './offline.js';

/** The operator at the command line, who may change every file of the project. */
const operator: Principal = Object.freeze({ id: 'local', admin: true, loopback: true, authenticated: false });

export interface OfflineRun {
  readonly source: SettingsSource;
  readonly signal: AbortSignal;
  readonly logTo?: CoreOptions['logTo'];
  /** Not even errors are logged (unless a log level is set): a script reads the output of the command. */
  readonly quiet: boolean;
  /** Gets the results of a command that goes on. */
  each?(result: CommandResult): void;
}

/**
 * Runs a contributed command without a server: boots its plugin and what that requires, without a port. A command that only
 * reads, of plugins that keep nothing in the database, needs no database that can be opened.
 *
 * @throws MortiseError
 */
export async function runCommandOffline(key: string, input: CommandInput, run: OfflineRun): Promise<CommandResult> {
  const { owner, needed, withoutTables } = await pluginsOf(key, run.source);
  const canBeWithout = owner !== undefined && withoutTables.includes(owner);
  const openWithout = async (lost: unknown) => {
    if (!canBeWithout || !isDatabaseError(lost)) throw lost;
    return { app: await open(run, withoutTables, { withoutDatabase: true }), lost };
  };
  const patience = canBeWithout ? { databaseRetryMs: 1_000 } : {};
  const { app, lost } = await open(run, needed, patience).then((app) => ({ app, lost: undefined }), openWithout);
  return withApp(app, run, async () => {
    if (owner !== undefined) expectActive(app, [owner]);
    const { points } = app.kernel;
    const isRead = async () => points.call('command', key, async (command) => command.isRead?.(input) === true);
    // A change is recorded in the database.
    if (lost !== undefined && !(await isRead())) throw lost;
    const options = { signal: run.signal, principal: operator };
    const call = (next: CommandInput) => points.call('command', key, (command, ctx) => command.run(next, ctx), options);
    let result = await call(input);
    while (result.again) {
      const { resume, afterMs } = result.again;
      run.each?.(result);
      await delay(afterMs, undefined, { signal: run.signal });
      result = await call({ ...input, resume });
    }
    return result;
  });
}

/** The plugin of a command with what that uses, and those of them that own no tables and require none that does. */
async function pluginsOf(key: string, source: SettingsSource) {
  const offline = await openOffline(source).catch((error: unknown) => {
    if (!isDatabaseError(error)) throw error;
    return openOffline(source, { filesOnly: true });
  });
  try {
    const owner = offline.points.list('command').find((one) => one.key === key)?.plugin;
    const needed = owner === undefined ? [] : offline.withNeeded([owner], true);
    const owners = await tableOwners(offline, needed);
    const withoutTables = needed.filter(
      (one) => !offline.withNeeded([one], false).some((used) => owners.includes(used)),
    );
    return { owner, needed, withoutTables };
  } finally {
    await offline.dispose();
  }
}

function isDatabaseError(error: unknown): boolean {
  return error instanceof MortiseError && error.code.startsWith('database_');
}

async function tableOwners({ control }: OfflineControl, keys: readonly string[]): Promise<readonly string[]> {
  const details = await Promise.all(keys.map((key) => control.inspect(key)));
  return details.filter(({ manifest }) => (manifest?.permissions?.schemas ?? []).length > 0).map(({ key }) => key);
}

/**
 * Reports a change that was made without a server to the plugins that record changes. What it wrote counts as seen once
 * the change is recorded; otherwise the next server reports it as an edit.
 *
 * @param listeners plugins to start, enabled or not: the change may have disabled one of them
 * @throws MortiseError
 */
export async function recordOffline(
  change: PlatformChange,
  listeners: readonly string[],
  writes: readonly FileWrite[],
  run: OfflineRun,
): Promise<void> {
  const app = await open(run, listeners);
  await withApp(app, run, async () => {
    expectActive(app, listeners);
    const { errors } = await app.kernel.events.emitAwaited('platform-changed', { changes: [change] });
    if (errors.length > 0) throw errors[0];
    const seen = new SeenFiles(app.settings.host);
    for (const write of writes) await seen.know(write);
  });
}

export interface Migrated {
  /** Plugins that own tables, in the order of their start. */
  readonly plugins: readonly string[];
  /** What was applied now, as `<plugin>/<migration>`. */
  readonly applied: readonly string[];
}

/** Starts the enabled plugins that own tables, without a port, and stops them again: a start applies migrations. */
export async function migrateOffline(run: OfflineRun): Promise<Migrated> {
  const offline = await openOffline(run.source);
  let owners: readonly string[];
  let needed: readonly string[];
  try {
    const enabled = offline.control.list().filter(({ desired }) => desired === 'enabled');
    owners = await tableOwners(
      offline,
      enabled.map(({ key }) => key),
    );
    needed = offline.withNeeded(owners, false);
  } finally {
    await offline.dispose();
  }
  const app = await open(run, needed);
  return withApp(app, run, async (before) => {
    expectActive(app, owners);
    const known = new Set(before);
    return { plugins: owners, applied: (await recorded(app)).filter((name) => !known.has(name)) };
  });
}

function open(
  { source, logTo, quiet }: OfflineRun,
  only: readonly string[],
  options: Pick<CoreOptions, 'withoutDatabase' | 'databaseRetryMs'> = {},
): Promise<App> {
  const { env = process.env } = source;
  return openApp({
    ...source,
    only,
    ...(logTo ? { logTo } : {}),
    ...options,
    // The output of a command is its answer, so the log is limited to errors.
    env: {
      ...env,
      MORTISE_LOG_DESTINATION: 'stderr',
      MORTISE_LOG_LEVEL: env.MORTISE_LOG_LEVEL ?? (quiet ? 'silent' : 'error'),
    },
  });
}

/** Boots the app for `use`, and stops it. */
async function withApp<R>(
  app: App,
  { signal }: OfflineRun,
  use: (migrationsBefore: readonly string[]) => Promise<R>,
): Promise<R> {
  try {
    const before = await recorded(app);
    signal.throwIfAborted();
    await app.boot();
    return await use(before);
  } finally {
    await app.stop(Date.now() + app.settings.host.shutdownSeconds * 1_000);
  }
}

async function recorded(app: App): Promise<readonly string[]> {
  const { rows } = await app.database
    .forPlugin('mortise', ['mortise'])
    .statement<{ plugin: string; name: string }>('select plugin, name from {mortise.migrations} order by plugin, name');
  return rows.map(({ plugin, name }) => `${plugin}/${name}`);
}

function expectActive(app: App, keys: readonly string[]): void {
  for (const row of app.control.list()) {
    if (!keys.includes(row.key) || row.state === 'active') continue;
    throw new MortiseError('plugin_blocked', `${row.key} is ${row.state}: ${row.message ?? 'it did not start'}`, {
      status: 422,
      details: { key: row.key, state: row.state, code: row.code },
      ...(row.hint ? { hint: row.hint } : {}),
    });
  }
}
