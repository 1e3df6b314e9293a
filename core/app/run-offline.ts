import { setTimeout as delay } from 'node:timers/promises';
import type { Principal } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import type { PlatformChange } from '../sdk/events.js';
import type { CommandInput, CommandResult } from '../sdk/points/command.js';
import type { FileWrite, SettingsSource } from '../settings/types.js';
import { type App, openApp } from './app.js';
import type { CoreOptions } from './core-parts.js';
import { SeenFiles } from './file-edits.js';
import { openOffline } from './offline.js';

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

/** Runs a contributed command without a server: boots its plugin and what that requires, without a port. @throws MortiseError */
export async function runCommandOffline(key: string, input: CommandInput, run: OfflineRun): Promise<CommandResult> {
  const offline = await openOffline(run.source);
  let owner: string | undefined;
  let needed: readonly string[];
  try {
    owner = offline.points.list('command').find((one) => one.key === key)?.plugin;
    needed = owner === undefined ? [] : offline.withNeeded([owner], true);
  } finally {
    await offline.dispose();
  }
  return withApp(run, needed, async (app) => {
    if (owner !== undefined) expectActive(app, [owner]);
    const { signal } = run;
    const options = { signal, principal: operator };
    let result = await app.kernel.points.call('command', key, (command, ctx) => command.run(input, ctx), options);
    while (result.again) {
      const { resume, afterMs } = result.again;
      run.each?.(result);
      await delay(afterMs, undefined, { signal });
      const next = { ...input, resume };
      result = await app.kernel.points.call('command', key, (command, ctx) => command.run(next, ctx), options);
    }
    return result;
  });
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
  await withApp(run, listeners, async (app) => {
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
    const details = await Promise.all(
      offline.control
        .list()
        .filter(({ desired }) => desired === 'enabled')
        .map(({ key }) => offline.control.inspect(key)),
    );
    owners = details.filter(({ manifest }) => (manifest?.permissions?.schemas ?? []).length > 0).map(({ key }) => key);
    needed = offline.withNeeded(owners, false);
  } finally {
    await offline.dispose();
  }
  return withApp(run, needed, async (app, before) => {
    expectActive(app, owners);
    const known = new Set(before);
    return { plugins: owners, applied: (await recorded(app)).filter((name) => !known.has(name)) };
  });
}

async function withApp<R>(
  { source, signal, logTo, quiet }: OfflineRun,
  only: readonly string[],
  use: (app: App, migrationsBefore: readonly string[]) => Promise<R>,
): Promise<R> {
  const { env = process.env } = source;
  const app = await openApp({
    ...source,
    only,
    ...(logTo ? { logTo } : {}),
    // The output of a command is its answer, so the log is limited to errors.
    env: {
      ...env,
      MORTISE_LOG_DESTINATION: 'stderr',
      MORTISE_LOG_LEVEL: env.MORTISE_LOG_LEVEL ?? (quiet ? 'silent' : 'error'),
    },
  });
  try {
    const before = await recorded(app);
    signal.throwIfAborted();
    await app.boot();
    return await use(app, before);
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
