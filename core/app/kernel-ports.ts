import { join } from 'node:path';
import { hostServices } from '../di/plugin-scope.js';
import type { CatalogueEntry } from '../kernel/catalogue.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { BootJournal } from '../process/boot-journal.js';
import { createSchemaCompiler } from '../schema/index.js';
import type { CompiledSchema, JsonSchema } from '../schema/types.js';
import { extensionPoints } from '../sdk/points/index.js';
import type { Settings } from '../settings/types.js';
import type { HostLogger, HostMetrics, Tracing } from '../telemetry/types.js';

export interface KernelPortParts {
  readonly settings: Settings;
  /** `schemas/plugin.schema.json`. */
  readonly manifestSchema: JsonSchema;
  readonly projectDir: string;
  readonly extraEntries: readonly CatalogueEntry[];
  readonly safeMode: boolean;
  readonly journal: Pick<BootJournal, 'suspect' | 'clearSuspect' | 'note'>;
  readonly metrics: HostMetrics;
  readonly tracing: Tracing;
  readonly log: HostLogger;
  readonly clean: KernelDeps['clean'];
  readonly scheduler: KernelDeps['scheduler'] & KernelDeps['clock'];
  /** The file, or what replicas share instead. */
  readonly desired: KernelDeps['desired'];
  readonly openScope: KernelDeps['openScope'];
  readonly blocker?: NonNullable<KernelDeps['blocker']>;
  /** What the process itself found. */
  readonly findings?: KernelDeps['findings'];
}

/** For a process whose crash says nothing about plugins. */
export const noJournal = {
  crashLoop: false,
  suspect: () => undefined,
  clearSuspect: () => undefined,
  note: () => () => undefined,
  complete: () => undefined,
  steady: () => undefined,
  close: () => undefined,
} satisfies Partial<BootJournal>;

/** The rooms beside the kernel, as the kernel wants to see them. */
export function kernelPorts(from: KernelPortParts): KernelDeps {
  const { settings, metrics, journal } = from;
  const { host } = settings;
  const compiler = createSchemaCompiler();
  const compiled = new WeakMap<object, CompiledSchema<unknown>>();
  return {
    log: from.log,
    clean: from.clean,
    clock: from.scheduler,
    scheduler: from.scheduler,
    compile: <T>(schema: Readonly<Record<string, unknown>>, name: string) => {
      const known = compiled.get(schema) ?? compiler.compile(schema, { name });
      compiled.set(schema, known);
      return known as CompiledSchema<T>;
    },
    manifestSchema: from.manifestSchema,
    points: extensionPoints,
    folders: [
      { path: host.shippedPluginsDir, source: 'first-party', codePath: join(from.projectDir, 'dist', 'plugins') },
      { path: host.pluginsDir, source: 'local' },
      { path: join(host.pluginsDir, 'node_modules'), source: 'npm' },
    ],
    extraEntries: from.extraEntries,
    desired: from.desired,
    config: (key, schema) => settings.own(key, schema),
    openScope: from.openScope,
    ...(from.blocker ? { blocker: from.blocker } : {}),
    hostServices,
    tracing: from.tracing,
    metrics: {
      call: (point, key, plugin) => {
        const done = metrics.pointCalls.bind({ point, key, plugin, outcome: 'ok' });
        const failed = metrics.pointCalls.bind({ point, key, plugin, outcome: 'error' });
        const duration = metrics.pointDuration.bind({ point, key, plugin });
        return (milliseconds, wrong) => {
          (wrong ? failed : done).add();
          duration.record(milliseconds / 1_000);
        };
      },
    },
    versions: { mortise: host.version, node: process.versions.node },
    safeMode: from.safeMode,
    suspect: (key) => journal.suspect(key),
    clearSuspect: (key) => journal.clearSuspect(key),
    note: (key, step) => journal.note(key, step),
    findings: async () => [...((await from.findings?.()) ?? []), ...settings.findings()],
  };
}
