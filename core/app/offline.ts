import { refuseDisable, refuseDisplacement, withToggled } from '../control/changes.js';
import { MortiseError } from '../sdk/errors.js';
import type { HostEvents } from '../sdk/events.js';
import type { PluginControl, PluginRow } from '../sdk/host/plugin-control.js';
import type { EffectiveValue } from '../sdk/host/settings.js';
import type { Points } from '../sdk/points.js';
import type { FileWrite, SettingsSource } from '../settings/types.js';
import { parts } from './composition.js';
import { offlineParts } from './core-parts.js';
import { openProjectSettings } from './project-files.js';

/** Plugin control on `plugins.json` and `config/`, without a server or running plugins. */
export interface OfflineControl {
  readonly control: Pick<PluginControl, 'revision' | 'list' | 'inspect' | 'plan' | 'doctor' | 'tree' | 'export'>;
  /** What enabled plugins declare in their manifests. */
  readonly points: Pick<Points, 'list'>;
  /** Every effective value with its source; secrets are masked. */
  effective(owner?: string): readonly EffectiveValue[];
  /** Writes the desired state; the next start follows it. */
  want(key: string, enabled: boolean, cascade: boolean): Promise<PluginRow>;
  /** Applies a merge patch to the configuration file of a plugin; the next start, or a running server, reads it. */
  patchConfig(key: string, patch: Readonly<Record<string, unknown>>): Promise<void>;
  /** Keys of plugins, and all that they require; with `optional` also the enabled ones that they can do without. */
  withNeeded(keys: readonly string[], optional: boolean): readonly string[];
  /** Enabled plugins whose manifests list a host event in `permissions.events`, and all that they use. */
  listenersOf(event: keyof HostEvents): readonly string[];
  /** Files that this control has replaced. */
  writes(): readonly FileWrite[];
  dispose(): Promise<void>;
}

/**
 * Reads settings, plugins and desired state without starting a plugin.
 *
 * @throws MortiseError for unusable settings or an unreachable database
 */
export async function openOffline(
  source: SettingsSource,
  { filesOnly = false }: { readonly filesOnly?: boolean } = {},
): Promise<OfflineControl> {
  const composition = await offlineParts(source, filesOnly)
    .open()
    .catch((error: unknown) => {
      throw error instanceof AggregateError ? error.errors[0] : error;
    });
  const settings = composition.get(parts.settings);
  const desired = composition.get(parts.desired);
  const kernel = composition.get(parts.kernel);
  const writes: FileWrite[] = [];
  settings.onWrite((write) => void writes.push(write));
  const control = composition.get(parts.control);
  const rowOf = (key: string): PluginRow | undefined =>
    control.list().find((row) => row.key === kernel.plugins.record(key)?.key);
  const needs = (key: string, optional: boolean): readonly string[] => {
    const manifest = kernel.plugins.record(key)?.entry.manifest;
    const wanted = optional ? (manifest?.optional ?? []).filter((one) => kernel.plugins.isEnabled(one)) : [];
    return [...(manifest?.requires ?? []), ...wanted];
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
    patchConfig: async (key, patch) => {
      const { key: own } = await control.inspect(key);
      const config = kernel.plugins.record(own)?.config;
      if (!config) throw new MortiseError('invalid_config', `The plugin ${own} has no configuration.`, { status: 422 });
      await config.patch(patch);
    },
    withNeeded,
    listenersOf: (event) => {
      const listeners = kernel.plugins
        .records()
        .filter(
          ({ key, entry }) => kernel.plugins.isEnabled(key) && entry.manifest?.permissions?.events?.includes(event),
        );
      return withNeeded(
        listeners.map(({ key }) => key),
        true,
      );
    },
    writes: () => writes,
    dispose: () => composition.close(),
  };
}

/** Every effective value with its source, from the files and the environment. @throws MortiseError */
export async function readConfig(
  source: SettingsSource,
  owner: string | undefined,
): Promise<readonly EffectiveValue[]> {
  // The host's own settings are needed most when the rest does not work.
  if (owner === 'host') {
    const opened = await openProjectSettings(source);
    if (!opened.ok) throw opened.errors[0] ?? new MortiseError('invalid_settings', 'The settings cannot be read.');
    try {
      return opened.settings.effective(owner);
    } finally {
      await opened.settings.dispose();
    }
  }
  const offline = await openOffline(source);
  try {
    return offline.effective(owner);
  } finally {
    await offline.dispose();
  }
}
