import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface ServerProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** `engine.env` of `eachDatabase`; SQLite in the data directory when absent. */
  readonly database?: Readonly<Record<string, string>>;
  /** A `plugins.json`; the shipped one when absent. */
  readonly plugins?: object;
  /** `config/<plugin>.json` by plugin key. */
  readonly config?: Readonly<Record<string, object>>;
  /** Uses this folder and keeps it, to start again on the data of a first process. */
  readonly folder?: string;
  /** Runs under the supervising launcher, which restarts a crashed server. Default false. */
  readonly supervised?: boolean;
  /** Time limit in milliseconds until the server listens. */
  readonly limitMs?: number;
  /** Called with the process before it listens, to end it during startup. */
  readonly onSpawn?: (child: ChildProcess) => void;
}

/** A server in a separate process, to test crashes, signals and restarts. */
export interface ServerProcess {
  readonly origin: string;
  readonly folder: string;
  readonly pluginsDir: string;
  readonly child: ChildProcess;
  /** Its output so far. */
  output(): string;
  fetch(path: string, init?: RequestInit): Promise<Response>;
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Sends a signal and waits for the exit. @returns the exit code, or the name of the signal that ended it. */
  end(signal?: NodeJS.Signals): Promise<number | string>;
  /** Kills it if it is still running, and removes its folder unless `folder` was given. */
  dispose(): Promise<void>;
}

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');

/** Starts the product as its launcher does, with separate folders and a free port. */
export async function startServer(options: ServerProcessOptions = {}): Promise<ServerProcess> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'mortise-server-')));
  const configDir = join(folder, 'config');
  const pluginsDir = join(folder, 'plugins');
  await mkdir(configDir, { recursive: true });
  await mkdir(pluginsDir, { recursive: true });
  const pluginsFile = options.plugins ? join(folder, 'plugins.json') : join(projectDir, 'plugins.json');
  if (options.plugins) await writeFile(pluginsFile, JSON.stringify(options.plugins));
  for (const [key, config] of Object.entries(options.config ?? {}))
    await writeFile(join(configDir, `${key}.json`), JSON.stringify(config));
  const entry = options.supervised
    ? [join(projectDir, 'scripts', 'start.mjs')]
    : [...nodeFlags, join(projectDir, 'dist', 'core', 'main.js')];
  const child = spawn(process.execPath, entry, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...childEnvironment(),
      MORTISE_DATA_DIR: join(folder, 'data'),
      MORTISE_CONFIG_DIR: configDir,
      MORTISE_PLUGINS_DIR: pluginsDir,
      MORTISE_PLUGINS_FILE: pluginsFile,
      MORTISE_WORKSPACE_DIR: folder,
      MORTISE_PORT: '0',
      ...options.database,
      ...options.env,
    },
  });
  options.onSpawn?.(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new Promise<number | string>((done) =>
    child.once('exit', (code, signal) => done(code ?? signal ?? 'unknown')),
  );
  const origin = await listening(() => output, ended, options.limitMs ?? 40_000).catch(async (error: unknown) => {
    child.kill('SIGKILL');
    if (!options.folder) await rm(folder, { recursive: true, force: true });
    throw error;
  });
  const end = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return ended;
  };
  return {
    // A restarted server listens on another port.
    get origin() {
      return lastOrigin(output) ?? origin;
    },
    folder,
    pluginsDir,
    child,
    output: () => output,
    fetch: (path, init) => fetch(`${lastOrigin(output) ?? origin}${path}`, init),
    post: (path, body, headers) =>
      fetch(`${lastOrigin(output) ?? origin}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    end,
    dispose: async () => {
      await end('SIGKILL');
      if (!options.folder) await rm(folder, { recursive: true, force: true });
    },
  };
}

function lastOrigin(output: string): string | undefined {
  return [...output.matchAll(/listens on (http:\/\/[^\s"]+)/g)].at(-1)?.[1];
}

/** On a busy machine a server listens while optional plugins are starting. */
function isStarting(output: string): boolean {
  return /"starting":\d/.test(output) && !output.includes('the other plugins have started');
}

async function listening(output: () => string, ended: Promise<number | string>, limitMs: number): Promise<string> {
  const end = Date.now() + limitMs;
  let exit: number | string | undefined;
  void ended.then((how) => {
    exit = how;
  });
  for (;;) {
    const origin = lastOrigin(output());
    if (origin && !isStarting(output())) return origin;
    if (exit !== undefined) throw new Error(`The server ended with ${exit} before it listened:\n${output()}`);
    if (Date.now() > end) throw new Error(`The server did not listen within ${limitMs} ms:\n${output()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// The launcher is plain JavaScript outside the build, so it is loaded by URL.
const launcher = (await import(new URL('../../../../scripts/lib/node-flags.mjs', import.meta.url).href)) as {
  nodeFlags(): readonly string[];
};

/** Node flags that the launcher runs the product with. */
export const nodeFlags: readonly string[] = launcher.nodeFlags();

/** Environment of a product process started by a test, without the developer's settings. */
export function childEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}) };
}
