import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment, temporaryFolder, until } from 'mortise/sdk/testing';

const project = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const supervise = new URL('../../../scripts/lib/supervise.mjs', import.meta.url).href;
export const fixtures = join(project, 'test', 'zoo', 'fixtures');

/** Links that a checkout cannot create on every system: `<plugin>/<name>` to a file outside the plugin's folder. */
const links: Readonly<Record<string, string>> = {
  'facts-linked-outside/facts.json': 'healthy/plugin.json',
  'entry-linked-outside/linked.js': 'healthy/index.js',
};

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** A real server under the real supervisor, with plugins dropped into its folder. */
export interface ZooServer {
  /** Its current address, which may change with a restart. */
  readonly origin: string;
  readonly pluginsDir: string;
  /** Output of the server and its supervisor. */
  text(): string;
  /** Number of times that the server has started to listen. */
  listened(): number;
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  stop(): Promise<void>;
}

interface ZooOptions {
  /** Plugins of the zoo that are copied into the plugins folder. */
  readonly plugins: readonly string[];
  /** Enabled plugins; all when absent. */
  readonly enabled?: readonly string[];
  readonly config?: Readonly<Record<string, object>>;
  readonly env?: Readonly<Record<string, string>>;
}

export async function startZoo(options: ZooOptions): Promise<ZooServer> {
  const root = temporaryFolder('zoo');
  const pluginsDir = join(root, 'plugins');
  for (const folder of ['data', 'config', 'plugins']) await mkdir(join(root, folder));
  for (const plugin of options.plugins) await dropIn(plugin, pluginsDir);
  for (const [key, config] of Object.entries(options.config ?? {}))
    await writeFile(join(root, 'config', `${key}.json`), JSON.stringify(config));
  const enabled = ['admin', 'logbook', ...(options.enabled ?? options.plugins)];
  const required = { admin: { enabled: true, required: true } };
  const plugins = Object.fromEntries(enabled.map((key) => [key, { enabled: true }]));
  await writeFile(join(root, 'plugins.json'), JSON.stringify({ version: 1, plugins: { ...plugins, ...required } }));

  const main = join(project, 'dist', 'core', 'main.js');
  const program = `process.exit(await (await import(${JSON.stringify(supervise)})).supervise(
    process.execPath, [${JSON.stringify(main)}], { say: (line) => console.log(line) }))`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...childEnvironment(),
      HOME: root,
      MORTISE_DATA_DIR: join(root, 'data'),
      MORTISE_CONFIG_DIR: join(root, 'config'),
      MORTISE_PLUGINS_DIR: pluginsDir,
      MORTISE_PLUGINS_FILE: join(root, 'plugins.json'),
      MORTISE_WORKSPACE_DIR: root,
      MORTISE_PORT: '0',
      MORTISE_HTTP_SHUTDOWN_TIMEOUT_SECONDS: '2',
      ...options.env,
    },
  });
  return new RunningServer(child, root, pluginsDir);
}

/** Copies a plugin of the zoo, or a folder beside it, into a plugins folder. */
export async function dropIn(plugin: string, pluginsDir: string, from = join(fixtures, 'plugins')): Promise<void> {
  await cp(join(from, plugin), join(pluginsDir, plugin), { recursive: true });
  for (const [link, target] of Object.entries(links))
    if (link.startsWith(`${plugin}/`)) await symlink(join(fixtures, 'plugins', target), join(pluginsDir, link));
}

class RunningServer implements ZooServer {
  readonly pluginsDir: string;
  readonly #child: ChildProcess;
  readonly #root: string;
  readonly #ended: Promise<void>;
  #text = '';

  constructor(child: ChildProcess, root: string, pluginsDir: string) {
    this.#child = child;
    this.#root = root;
    this.pluginsDir = pluginsDir;
    child.stdout?.on('data', (chunk) => (this.#text += chunk));
    child.stderr?.on('data', (chunk) => (this.#text += chunk));
    this.#ended = new Promise((resolve) => child.once('close', () => resolve()));
  }

  get origin(): string {
    const found = [...this.#text.matchAll(listening)].at(-1)?.[1];
    if (!found) throw new Error(`It does not listen.\n${this.#text.slice(-4_000)}`);
    return found;
  }

  text(): string {
    return this.#text;
  }

  listened(): number {
    return [...this.#text.matchAll(listening)].length;
  }

  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${this.origin}${path}`, { method, headers, ...init });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 8_000);
    await this.#ended;
    clearTimeout(late);
    await rm(this.#root, { recursive: true, force: true });
  }
}

const listening = /Mortise listens on (http:[^"\s]+)/g;

/** Waits until the server has started to listen that many times and answers. */
export async function ready(server: ZooServer, times = 1): Promise<void> {
  await until(
    () => `the server does not listen\n${server.text().slice(-4_000)}`,
    () => server.listened() >= times,
    20_000,
  );
}
