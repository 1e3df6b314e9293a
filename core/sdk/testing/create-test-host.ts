import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type App, openApp } from '../../app/app.js';
import type { CatalogueEntry } from '../../kernel/catalogue.js';
import { contributionId } from '../../kernel/extension-points.js';
import type { PluginControl, PluginDefinition, PluginManifest, Points, Principal, Services } from '../index.js';
import { canonicalKey } from '../points/point.js';

/** A plugin defined in a test: its manifest, without the members that have a default here, and its definition. */
export interface TestPlugin {
  readonly manifest: Partial<PluginManifest> & { readonly key: string };
  readonly definition: PluginDefinition | (() => unknown);
  /** Counts as shipped with the platform, so that it may use the schemas of shipped plugins. */
  readonly isShipped?: boolean;
  /** JSON Schema of its configuration. */
  readonly configSchema?: Readonly<Record<string, unknown>>;
}

export interface TestHostOptions {
  /** Keys of plugins to enable, together with their requirements. Others stay disabled. */
  readonly plugins?: readonly string[];
  /** Plugins defined by the test; enabled unless listed in `disabled`. */
  readonly extra?: readonly TestPlugin[];
  /** Plugins that are installed but disabled at the start. */
  readonly disabled?: readonly string[];
  /** `config/<plugin>.json` by plugin key. */
  readonly config?: Readonly<Record<string, object>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Plugins that plugins.json marks as required. */
  readonly required?: readonly string[];
  readonly bindings?: Readonly<Record<string, string>>;
  /** `engine.env` of `eachDatabase`; SQLite in the data directory when absent. */
  readonly database?: Readonly<Record<string, string>>;
  /** Uses this data directory and keeps it, to start a second host on the data of a first one. */
  readonly dataDir?: string;
  /** Shipped plugins that the test makes fail at their start; any other failure ends the test. */
  readonly mayFail?: readonly string[];
  /** Opens a port on loopback. Default true. */
  readonly listen?: boolean;
}

/** A caller without a key on loopback, for tests that bypass the HTTP API. */
export const localPrincipal: Principal = { id: 'local', admin: true, loopback: true, authenticated: false };

/** A running platform of a test. */
export interface TestHost {
  readonly origin: string;
  readonly app: App;
  readonly control: PluginControl;
  /** Calls into plugins, made as the host. */
  readonly points: Points;
  readonly dataDir: string;
  readonly configDir: string;
  readonly pluginsFile: string;
  readonly pluginsDir: string;
  /** Every log line so far. */
  readonly logs: readonly string[];
  /** A service that an active plugin provides. */
  service<S extends keyof Services & string>(name: S): Services[S];
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** POST with a JSON body. */
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Shuts down like a process. @param withinMs time for accepted work to finish; default 2,000 */
  stop(withinMs?: number): Promise<void>;
}

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');

/**
 * Boots the real platform in this process, with real settings, database, HTTP and kernel, and a separate data directory.
 *
 * @example const host = await createTestHost({ plugins: ['mcp-server'], extra: [echo] });
 */
export async function createTestHost(options: TestHostOptions = {}): Promise<TestHost> {
  const root = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'mortise-test-')));
  const folders = { data: join(root, 'data'), config: join(root, 'config'), plugins: join(root, 'plugins') };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true });
  const pluginsFile = join(root, 'plugins.json');
  const extraEntries = (options.extra ?? []).map(entryOf);
  const keys = await withRequirements(
    [...(options.plugins ?? []), ...extraEntries.map((entry) => entry.key)],
    extraEntries,
  );
  await writeFile(
    pluginsFile,
    JSON.stringify({
      version: 1,
      plugins: Object.fromEntries(
        keys.map((key) => [
          key,
          {
            enabled: !options.disabled?.includes(key),
            ...(options.required?.includes(key) ? { required: true } : {}),
          },
        ]),
      ),
      bindings: options.bindings ?? {},
    }),
  );
  for (const [key, config] of Object.entries(options.config ?? {}))
    await writeFile(join(folders.config, `${key}.json`), JSON.stringify(config));
  const logs: string[] = [];
  const app = await openApp({
    projectDir,
    cwd: root,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      MORTISE_LOG_LEVEL: 'debug',
      MORTISE_DATA_DIR: folders.data,
      MORTISE_CONFIG_DIR: folders.config,
      MORTISE_PLUGINS_DIR: folders.plugins,
      MORTISE_PLUGINS_FILE: pluginsFile,
      MORTISE_WORKSPACE_DIR: root,
      MORTISE_PORT: '0',
      ...options.database,
      ...options.env,
    },
    extraEntries,
    logTo: { write: (line) => void logs.push(line) },
  });
  await app.boot();
  const mayFail = [...extraEntries.map((entry) => entry.key), ...(options.mayFail ?? [])];
  if (app.control.list().some(({ key, state }) => state === 'failed' && !mayFail.includes(key))) {
    const why = notActive(app);
    await app.stop(Date.now());
    throw new Error(`The platform did not start: ${why}`);
  }
  const origin = options.listen === false ? '' : (await app.listen()).origin;
  let stopped: Promise<void> | undefined;
  const host: TestHost = {
    origin,
    app,
    control: app.control,
    points: app.kernel.points,
    dataDir: root,
    configDir: folders.config,
    pluginsFile,
    pluginsDir: folders.plugins,
    logs,
    service: (name) => {
      const found = app.kernel.services.get(name);
      if (!found) throw new Error(`No active plugin provides "${name}": ${notActive(app)}`);
      return found.value as Services[typeof name];
    },
    fetch: (path, init) => fetch(`${origin}${path}`, init),
    post: (path, body, headers) =>
      fetch(`${origin}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    stop: (withinMs = 2_000) => {
      stopped ??= (async () => {
        await app.stop(Date.now() + withinMs);
        if (!options.dataDir) await rm(root, { recursive: true, force: true });
      })();
      return stopped;
    },
  };
  return host;
}

function notActive(app: App): string {
  const rows = app.control.list().filter((row) => row.desired === 'enabled' && row.state !== 'active');
  return (
    rows.map((row) => `${row.key} is ${row.state} (${row.code}: ${row.message})`).join('; ') ||
    'all enabled plugins are active'
  );
}

function entryOf(plugin: TestPlugin): CatalogueEntry {
  const manifest: PluginManifest = {
    manifestVersion: 1,
    version: '0.0.0',
    title: plugin.manifest.key,
    summary: 'Defined by a test.',
    ...plugin.manifest,
  };
  const facts = new Map<string, Readonly<Record<string, unknown>>>();
  for (const [point, contributions] of Object.entries(manifest.contributes ?? {})) {
    for (const one of contributions)
      if (typeof one !== 'string' && typeof one.facts !== 'string')
        facts.set(contributionId(point, one.key), one.facts);
  }
  for (const route of manifest.permissions?.routes ?? []) facts.set(contributionId('route', route.name), { ...route });
  if (plugin.configSchema) facts.set('config:schema', plugin.configSchema);
  const { definition } = plugin;
  return {
    key: manifest.key,
    source: plugin.isShipped ? 'first-party' : 'local',
    folder: projectDir,
    entry: null,
    manifest: plugin.configSchema ? { config: 'inline', ...manifest } : manifest,
    facts,
    problem: null,
    load: async () => ({ default: typeof definition === 'function' ? definition : () => definition }),
  };
}

/** The keys and all their transitive requirements, from the manifests. */
async function withRequirements(keys: readonly string[], extra: readonly CatalogueEntry[]): Promise<readonly string[]> {
  const found = new Set<string>();
  const visit = async (key: string): Promise<void> => {
    if (found.has(key)) return;
    found.add(key);
    const made = extra.find((entry) => canonicalKey(entry.key) === canonicalKey(key));
    const manifest =
      made?.manifest ??
      (JSON.parse(await readFile(join(projectDir, 'plugins', key, 'plugin.json'), 'utf8')) as PluginManifest);
    for (const required of manifest.requires ?? []) await visit(required);
  };
  for (const key of keys) await visit(key);
  return [...found];
}
