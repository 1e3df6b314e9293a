import { createScheduler } from '../../schedule/index.js';
import { createSchemaCompiler } from '../../schema/index.js';
import { MortiseError } from '../../sdk/errors.js';
import type { HostServices } from '../../sdk/host/index.js';
import type { PluginManifest } from '../../sdk/manifest.js';
import type { PluginDefinition, StartHost } from '../../sdk/plugin.js';
import type { CatalogueEntry } from '../catalogue.js';
import { contributionId } from '../catalogue.js';
import { createControl } from '../control.js';
import { Kernel } from '../kernel.js';
import type { Desired, KernelLogger, KernelPorts, PluginConfigSource } from '../ports.js';

export interface MadePlugin {
  readonly manifest: Partial<PluginManifest> & { readonly key: string };
  readonly definition: PluginDefinition | (() => unknown);
}

/** A kernel with plugins from memory and nothing else: no files, no database, no port. */
export function makeKernel(
  plugins: readonly MadePlugin[],
  enabled: readonly string[],
  more: Partial<KernelPorts> = {},
) {
  const entries = plugins.map(entryOf);
  const lines: string[] = [];
  const log = logger(lines, {});
  const compiler = createSchemaCompiler();
  const scheduler = createScheduler({});
  const desired = memoryDesired(enabled);
  const open = { scopes: 0 };
  const kernel = new Kernel({
    log,
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    scheduler,
    compile: (schema, name) => compiler.compile(schema, { name }),
    manifestSchema: { type: 'object' },
    folders: [],
    extraEntries: entries,
    desired,
    config: async () => noConfig,
    openScope: () => {
      open.scopes += 1;
      return {
        use: (service) => {
          throw new Error(`There is no ${service} in this test.`) as HostServices[typeof service] & Error;
        },
        dispose: async () => {
          open.scopes -= 1;
        },
      };
    },
    hostServices: ['database', 'settings'],
    metrics: { call: () => () => undefined },
    versions: { mortise: '0.1.0', node: process.versions.node },
    safeMode: false,
    suspect: () => undefined,
    acquit: () => undefined,
    note: () => () => undefined,
    findings: () => [],
    ...more,
  });
  const control = createControl({ kernel, effective: () => [] });
  return {
    kernel,
    control,
    desired,
    lines,
    open,
    stop: async () => {
      await kernel.shutdown(Date.now() + 2_000);
      await scheduler.dispose();
    },
  };
}

export type MadeKernel = ReturnType<typeof makeKernel>;

/** A plugin that contributes one echo tool named after it and notes what happens to it. */
export function echoPlugin(
  key: string,
  options: { requires?: readonly string[]; start?: (host: StartHost) => void | Promise<void>; notes?: string[] } = {},
): MadePlugin {
  const tool = key;
  return {
    manifest: { key, requires: options.requires ?? [], contributes: { tool: [tool] } },
    definition: () => ({
      key,
      register(host: StartHost) {
        host.contribute('tool', tool, {
          summary: 'Returns its input.',
          audience: ['agent', 'mcp'],
          inputSchema: { type: 'object' },
          run: (args) => args,
        });
      },
      start(host: StartHost) {
        options.notes?.push(`start ${key}`);
        return options.start?.(host);
      },
      stop() {
        options.notes?.push(`stop ${key}`);
      },
    }),
  };
}

export function entryOf({ manifest, definition }: MadePlugin): CatalogueEntry {
  const whole: PluginManifest = {
    manifestVersion: 1,
    version: '1.0.0',
    title: manifest.key,
    summary: 'Made by a test.',
    ...manifest,
  };
  const facts = new Map<string, Readonly<Record<string, unknown>>>();
  for (const [point, contributions] of Object.entries(whole.contributes ?? {})) {
    for (const one of contributions)
      if (typeof one !== 'string' && typeof one.facts !== 'string')
        facts.set(contributionId(point, one.key), one.facts);
  }
  return {
    key: manifest.key,
    source: 'local',
    folder: '/nowhere',
    entry: null,
    manifest: whole,
    facts,
    problem: null,
    load: async () => ({ default: typeof definition === 'function' ? definition : () => definition }),
  };
}

function memoryDesired(enabled: readonly string[]): KernelPorts['desired'] {
  let current: Desired = {
    version: 1,
    revision: 1,
    plugins: Object.fromEntries(enabled.map((key) => [key, { enabled: true }])),
    bindings: {},
    renamed: {},
  };
  return {
    get current() {
      return current;
    },
    subscribe: () => ({ dispose: () => undefined }),
    write: async (change, options) => {
      if (options?.revision !== undefined && options.revision !== current.revision)
        throw new MortiseError('revision_conflict', 'Moved on.', { status: 409 });
      current = { ...change(current), revision: current.revision + 1 };
      return current;
    },
  };
}

const noConfig: PluginConfigSource = {
  snapshot: { config: {}, revision: 1 },
  problem: null,
  subscribe: () => ({ dispose: () => undefined }),
  check: () => [],
  write: async () => undefined,
  dispose: () => undefined,
};

function logger(lines: string[], bound: object): KernelLogger {
  const write = (fields: object | string, message?: string): void => {
    lines.push(typeof fields === 'string' ? fields : `${message ?? ''} ${JSON.stringify({ ...bound, ...fields })}`);
  };
  return {
    trace: write,
    debug: write,
    info: write,
    warn: write,
    error: write,
    child: (fields) => logger(lines, { ...bound, ...fields }),
  };
}
