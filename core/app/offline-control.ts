import { join } from 'node:path';
import { createControl } from '../control/control.js';
import { refuseDisable, refuseDisplacement, withToggled } from '../control/desired-changes.js';
import { type DatabaseHost, openDatabase } from '../database/index.js';
import { Kernel } from '../kernel/kernel.js';
import { createScheduler } from '../schedule/index.js';
import { keepValidators, loadSchema } from '../schema/index.js';
import { MortiseError } from '../sdk/errors.js';
import type { PluginControl, PluginRow } from '../sdk/host/plugin-control.js';
import type { EffectiveValue } from '../sdk/host/settings.js';
import type { Points } from '../sdk/points.js';
import { openPluginsFile, openSettings } from '../settings/index.js';
import { createLogSink, createMetrics, createTracing } from '../telemetry/index.js';
import { openDesiredState } from './desired-state.js';
import { kernelPorts, noJournal } from './kernel-ports.js';
import { SeenFiles } from './seen-files.js';

/** The same engine on `plugins.json` and `config/`, with no server and no plugin running. */
export interface OfflineControl {
  readonly control: Pick<PluginControl, 'revision' | 'list' | 'inspect' | 'plan' | 'doctor' | 'tree' | 'export'>;
  /** What enabled plugins declare in their manifests. */
  readonly points: Pick<Points, 'list'>;
  /** Every effective value with its source; secrets are masked. */
  effective(owner?: string): readonly EffectiveValue[];
  /** Writes the desired state; the next start follows it. */
  want(key: string, enabled: boolean, cascade: boolean): Promise<PluginRow>;
  /** Keys of plugins, and all that they require; with `optional` also the enabled ones that they can do without. */
  withNeeded(keys: readonly string[], optional: boolean): readonly string[];
  /** The enabled plugin that provides a service, and all that it requires; empty without one. */
  keepersOf(service: string): readonly string[];
  dispose(): Promise<void>;
}

/**
 * Reads what there is without starting any of it. Where a team keeps the desired state in its database, that is read,
 * and written, there, unless only the files are asked for.
 * @throws MortiseError for settings that cannot be used and a database that cannot be reached
 */
export async function openOffline(
  projectDir: string,
  { filesOnly = false }: { readonly filesOnly?: boolean } = {},
): Promise<OfflineControl> {
  keepValidators(join(projectDir, '.runtime', 'validators'));
  const opened = await openSettings({ projectDir });
  if (!opened.ok) throw opened.errors[0] ?? new MortiseError('invalid_settings', 'The settings cannot be read.');
  const { settings } = opened;
  const { host } = settings;
  const { log, hide, clean } = createLogSink({ level: 'silent', destination: 'stderr' });
  for (const secret of settings.secrets()) hide(secret);
  let database: DatabaseHost | undefined;
  if (host.database.dialect === 'postgres' && !filesOnly)
    database = await openDatabase(host.database, log, { retryMs: 2_000 });
  const metrics = createMetrics();
  const scheduler = createScheduler({});
  const pluginsFile = await openPluginsFile({ file: host.pluginsFile, dataDir: host.dataDir, settings });
  const seen = new SeenFiles(host);
  let known: Promise<unknown> = Promise.resolve();
  settings.onWrite((path) => {
    known = seen.know(path).catch(() => undefined);
  });
  const desired = await openDesiredState(database, pluginsFile, projectDir, log);
  const kernel = new Kernel(
    kernelPorts({
      settings,
      manifestSchema: await loadSchema(projectDir, 'plugin'),
      projectDir,
      extraEntries: [],
      safeMode: false,
      journal: noJournal,
      metrics: metrics.host,
      tracing: createTracing(),
      log,
      clean,
      scheduler,
      desired: desired.store,
      openScope: () => {
        throw new Error('No plugin runs offline.');
      },
    }),
  );
  await kernel.look();
  const control = createControl({
    kernel,
    effective: (owner) => settings.effective(owner),
    exportDesired: () => desired.export(),
  });
  const rowOf = (key: string): PluginRow | undefined =>
    control.list().find((row) => row.key === kernel.record(key)?.key);
  const needs = (key: string, optional: boolean): readonly string[] => {
    const manifest = kernel.record(key)?.entry.manifest;
    const wished = optional ? (manifest?.optional ?? []).filter((one) => kernel.isEnabled(one)) : [];
    return [...(manifest?.requires ?? []), ...wished];
  };
  const withNeeded = (keys: readonly string[], optional: boolean): readonly string[] => {
    const found = new Set<string>();
    const visit = (key: string): void => {
      if (found.has(key)) return;
      found.add(key);
      for (const needed of needs(key, optional)) visit(needed);
    };
    for (const key of keys) visit(key);
    return [...found];
  };
  return {
    control,
    points: kernel.points,
    effective: (owner) => settings.effective(owner),
    want: async (key, enabled, cascade) => {
      const own = rowOf(key)?.key ?? (await control.inspect(key)).key;
      const dependants = enabled ? [] : refuseDisable(kernel, own, cascade);
      await desired.store.write((current) => {
        const next = { ...current, plugins: withToggled(kernel, current.plugins, [own, ...dependants], enabled) };
        if (enabled) refuseDisplacement(kernel, next, [own]);
        return next;
      });
      await kernel.look();
      return rowOf(own) ?? (await control.inspect(own));
    },
    withNeeded,
    keepersOf: (service) => {
      const keeper = kernel
        .records()
        .find(({ key, entry }) => kernel.isEnabled(key) && entry.manifest?.provides?.includes(service));
      return keeper ? withNeeded([keeper.key], false) : [];
    },
    dispose: async () => {
      await known;
      await scheduler.dispose();
      await desired.dispose();
      await pluginsFile.dispose();
      await settings.dispose();
      await database?.close();
      metrics.dispose();
    },
  };
}
