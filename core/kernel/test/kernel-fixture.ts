import { createControl } from '../../control/control.js';
import { createScheduler } from '../../schedule/index.js';
import { createSchemaCompiler } from '../../schema/index.js';
import { MortiseError } from '../../sdk/errors.js';
import type { HostServices } from '../../sdk/host/index.js';
import type { PluginManifest } from '../../sdk/manifest.js';
import { redactSecrets } from '../../sdk/mask.js';
import type { PluginDefinition, StartHost } from '../../sdk/plugin.js';
import { extensionPoints } from '../../sdk/points/declarations.js';
import type { Desired } from '../../settings/types.js';
import { type CatalogueEntry, configSchemaId } from '../catalogue.js';
import type { KernelDeps, KernelLogger, PluginConfigSource } from '../deps.js';
import { contributionId } from '../extension-points.js';
import { Kernel } from '../kernel.js';

export interface MadePlugin {
  readonly manifest: Partial<PluginManifest> & { readonly key: string };
  readonly definition: PluginDefinition | (() => unknown);
}

/** A secret that the host of such a kernel knows. */
export const knownSecret = 'kanarienvogel-4711';

/** A kernel with plugins from memory, without files, database and port. */
export function makeKernel(plugins: readonly MadePlugin[], enabled: readonly string[], more: Partial<KernelDeps> = {}) {
  const entries = plugins.map(entryOf);
  const lines: string[] = [];
  const log = logger(lines, {});
  const compiler = createSchemaCompiler();
  const scheduler = createScheduler({});
  const desired = memoryDesired(enabled);
  const open = { scopes: 0 };
  const kernel = new Kernel({
    log,
    clean: (text) => redactSecrets(text.replaceAll(knownSecret, '[REDACTED]')),
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    scheduler,
    compile: (schema, name) => compiler.compile(schema, { name }),
    manifestSchema: { type: 'object' },
    points: extensionPoints,
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
        endTransactions: () => undefined,
        dispose: async () => {
          open.scopes -= 1;
        },
      };
    },
    hostServices: ['database', 'settings'],
    tracing: { start: () => undefined },
    metrics: { call: () => () => undefined },
    versions: { mortise: '0.1.0', node: process.versions.node },
    safeMode: false,
    suspect: () => undefined,
    clearSuspect: () => undefined,
    note: () => () => undefined,
    findings: async () => [],
    ...more,
  });
  const control = createControl({
    kernel,
    effective: () => [],
    exportDesired: async () => ({ file: 'plugins.json', revision: desired.current.revision, changed: false }),
  });
  return {
    kernel,
    control,
    desired,
    lines,
    open,
    /** State and code of a plugin: `active`, `blocked key_conflict`. */
    state: (key: string): string => {
      const record = kernel.plugins.record(key);
      return [record?.state, record?.problem?.code].filter(Boolean).join(' ');
    },
    /** Changes what should run, as an edit of the file does, and waits until it does. */
    want: async (change: (current: Desired) => Partial<Desired>): Promise<void> => {
      await desired.write((current) => ({ ...current, ...change(current) }));
      await kernel.serial(async () => undefined);
    },
    stop: async () => {
      await kernel.shutdown(Date.now() + 2_000);
      await scheduler.dispose();
    },
  };
}

export type MadeKernel = ReturnType<typeof makeKernel>;

/** A plugin that contributes one echo tool with its name and records its lifecycle. */
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

/** A plugin from its two functions, with the manifest members of the test. */
export function plugin(
  manifest: MadePlugin['manifest'],
  parts: Partial<Omit<PluginDefinition, 'key'>> = {},
): MadePlugin {
  return { manifest, definition: () => ({ key: manifest.key, register: () => undefined, ...parts }) };
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
  if (whole.config) facts.set(configSchemaId, { type: 'object' });
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

function memoryDesired(enabled: readonly string[]): KernelDeps['desired'] {
  let current: Desired = {
    version: 1,
    revision: 1,
    plugins: Object.fromEntries(enabled.map((key) => [key, { enabled: true }])),
    bindings: {},
    renamed: {},
  };
  const listeners = new Set<() => void>();
  return {
    get current() {
      return current;
    },
    subscribe: (run) => {
      listeners.add(run);
      return { dispose: () => void listeners.delete(run) };
    },
    write: async (change, options) => {
      if (options?.revision !== undefined && options.revision !== current.revision)
        throw new MortiseError('revision_conflict', 'Moved on.', { status: 409 });
      current = { ...change(current), revision: current.revision + 1 };
      for (const listener of listeners) listener();
      return current;
    },
  };
}

/** A plugin's configuration that a test sets. */
export class TestConfig implements PluginConfigSource {
  snapshot: PluginConfigSource['snapshot'];
  problem: PluginConfigSource['problem'] = null;
  readonly #listeners = new Set<() => void>();

  constructor(config?: Readonly<Record<string, unknown>>) {
    if (config) this.set(config);
    else this.refuse('/limit', 'must be a number');
  }

  set(config: Readonly<Record<string, unknown>>): void {
    this.snapshot = { config: Object.freeze(config), revision: (this.snapshot?.revision ?? 0) + 1 };
    this.problem = null;
    for (const listener of this.#listeners) listener();
  }

  refuse(path: string, message: string): void {
    this.problem = { message: `${path} ${message}`, issues: [{ path, message }] };
  }

  subscribe(run: () => void) {
    this.#listeners.add(run);
    return { dispose: () => void this.#listeners.delete(run) };
  }

  check(config: Readonly<Record<string, unknown>>) {
    return typeof config.limit === 'number' ? [] : [{ path: '/limit', message: 'must be a number' }];
  }

  async write(config: Readonly<Record<string, unknown>>): Promise<void> {
    const errors = this.check(config);
    if (errors.length > 0)
      throw new MortiseError('invalid_config', 'It is invalid.', { status: 422, details: { errors } });
    this.set(config);
  }

  patch(patch: Readonly<Record<string, unknown>>): Promise<void> {
    return this.write({ ...this.snapshot?.config, ...patch });
  }

  dispose(): void {
    this.#listeners.clear();
  }
}

const noConfig: PluginConfigSource = {
  snapshot: { config: {}, revision: 1 },
  problem: null,
  subscribe: () => ({ dispose: () => undefined }),
  check: () => [],
  write: async () => undefined,
  patch: async () => undefined,
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
