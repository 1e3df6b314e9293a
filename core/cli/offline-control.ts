import { kernelPorts } from '../app/kernel-ports.js';
import { createControl } from '../kernel/control.js';
import { Kernel } from '../kernel/kernel.js';
import { createScheduler } from '../schedule/index.js';
import { loadSchema } from '../schema/index.js';
import { MortiseError } from '../sdk/errors.js';
import type { PluginControl, PluginRow } from '../sdk/host/plugin-control.js';
import { openPluginsFile, openSettings } from '../settings/index.js';
import type { Settings } from '../settings/types.js';
import { createLogSink, createMetrics, createTracing } from '../telemetry/index.js';

/** The same engine on `plugins.json` and `config/`, with no server and no plugin running. */
export interface OfflineControl {
  readonly settings: Settings;
  readonly control: Pick<PluginControl, 'revision' | 'list' | 'inspect' | 'plan' | 'doctor' | 'tree'>;
  /** Writes the desired state; the next start follows it. */
  want(key: string, enabled: boolean, cascade: boolean): Promise<PluginRow>;
  dispose(): Promise<void>;
}

export async function openOffline(projectDir: string): Promise<OfflineControl> {
  const opened = await openSettings({ projectDir });
  if (!opened.ok) throw opened.errors[0] ?? new MortiseError('invalid_config', 'The settings cannot be read.');
  const { settings } = opened;
  const sink = createLogSink({ level: 'silent', destination: 'stderr' });
  const metrics = createMetrics();
  const scheduler = createScheduler({});
  const pluginsFile = await openPluginsFile({
    file: settings.host.pluginsFile,
    dataDir: settings.host.dataDir,
    settings,
  });
  const kernel = new Kernel(
    kernelPorts({
      settings,
      manifestSchema: await loadSchema(projectDir, 'plugin'),
      projectDir,
      extraEntries: [],
      safeMode: false,
      journal: { suspect: () => undefined, acquit: () => undefined, note: () => () => undefined },
      metrics: metrics.host,
      tracing: createTracing(),
      log: sink.log,
      scheduler,
      pluginsFile,
      desired: pluginsFile,
      openScope: () => {
        throw new Error('No plugin runs offline.');
      },
    }),
  );
  await kernel.look();
  const control = createControl({ kernel, effective: (owner) => settings.effective(owner) });
  const rowOf = (key: string): PluginRow | undefined =>
    control.list().find((row) => row.key === kernel.record(key)?.key);
  return {
    settings,
    control,
    want: async (key, enabled, cascade) => {
      const row = rowOf(key);
      if (!row) await control.inspect(key);
      const own = row?.key ?? key;
      const dependants = enabled ? [] : kernel.dependants(own);
      if (dependants.length > 0 && !cascade) {
        throw new MortiseError('plugin_has_dependants', `Other plugins need ${own}: ${dependants.join(', ')}.`, {
          status: 409,
          details: { key: own, dependants },
          hint: `mortise plugin disable ${own} --cascade`,
        });
      }
      await pluginsFile.write((current) => ({
        ...current,
        plugins: {
          ...current.plugins,
          ...Object.fromEntries([own, ...dependants].map((one) => [one, { ...current.plugins[one], enabled }])),
        },
      }));
      await kernel.look();
      return rowOf(own) ?? (await control.inspect(own));
    },
    dispose: async () => {
      await scheduler.dispose();
      await pluginsFile.dispose();
      await settings.dispose();
      metrics.dispose();
    },
  };
}
