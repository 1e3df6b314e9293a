import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { endProcess, outliveStreamErrors, say } from '../process/exit.js';
import { MortiseError } from '../sdk/errors.js';
import { printableJson } from '../sdk/text.js';
import { type App, openApp } from './app.js';
import { serverAddress } from './project-files.js';

/** Asks the supervisor to start the process again, once. */
const exitForRestart = 75;

const exit = process.exit.bind(process);

interface Arguments {
  readonly safeMode: boolean;
  /** Uses the server that answers at the API's address, if there is one. */
  readonly connect: boolean;
  /** Says on stdout in JSON what was done. */
  readonly json: boolean;
}

/** Reads the few options of the command line into the environment, which wins over files. */
function applyArguments(args: readonly string[]): Arguments {
  let safeMode = process.env.MORTISE_SAFE_MODE === '1';
  let connect = false;
  let json = false;
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index] ?? '';
    const [name, inline] = argument.split('=', 2);
    const value = (): string => inline ?? args[++index] ?? '';
    if (name === '--port') process.env.MORTISE_PORT = value();
    else if (name === '--host') process.env.MORTISE_HOST = value();
    else if (name === '--data-dir') process.env.MORTISE_DATA_DIR = value();
    else if (name === '--api-base') process.env.MORTISE_API_BASE = value();
    else if (name === '--safe') safeMode = true;
    else if (name === '--connect') connect = true;
    else if (name === '--json') json = true;
    else {
      say([
        `There is no option "${argument}".`,
        'npm start -- [--port N] [--host ADDRESS] [--data-dir DIR] [--safe] [--json]',
      ]);
      exit(2);
    }
  }
  return { safeMode, connect, json };
}

/** How long a server has to answer that it runs, milliseconds. */
const answersWithinMs = 2_000;

/** The address of the API, if a server answers there. */
async function runningServer(projectDir: string): Promise<string | undefined> {
  const base = (process.env.MORTISE_API_BASE ?? (await serverAddress({ projectDir })).base).replace(/\/$/, '');
  try {
    const response = await fetch(`${base}/healthz`, { signal: AbortSignal.timeout(answersWithinMs) });
    const { ok } = (await response.json()) as { readonly ok?: unknown };
    return ok === true ? base : undefined;
  } catch {
    return undefined;
  }
}

function explain(error: unknown): readonly string[] {
  if (error instanceof AggregateError) return error.errors.flatMap(explain);
  if (error instanceof MortiseError) return error.hint ? [error.message, error.hint] : [error.message];
  if (isSystemError(error)) {
    const what = `The system refuses ${error.syscall}${error.path ? ` of ${error.path}` : ''}: ${error.code}.`;
    return [what, 'Check that it exists, that this user may use it, and that the disk has space; then start again.'];
  }
  return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

/** Runs the server until a signal, a restart or a failure ends the process. Resolves when every plugin has settled. */
export async function run(projectDir: string): Promise<void> {
  outliveStreamErrors();
  const { safeMode, connect, json } = applyArguments(process.argv.slice(2));
  const running = connect ? await runningServer(projectDir) : undefined;
  if (running !== undefined) {
    const text = `A Mortise server runs at ${running} already; no other one was started.`;
    process.stdout.write(`${json ? printableJson({ connected: true, url: running }) : text}\n`);
    return endProcess(0);
  }
  const commit = readCommit(projectDir);
  if (commit !== undefined) process.env.MORTISE_COMMIT ??= commit;
  let stopping: Promise<void> | undefined;
  let app: App | undefined;
  const stop = (code: number): void => {
    if (stopping) void endProcess(code === 0 ? 1 : code);
    stopping ??= end(code);
  };
  const end = async (code: number): Promise<void> => {
    const seconds = app?.settings.host.shutdownSeconds ?? 0;
    // Whatever hangs, the process ends.
    setTimeout(() => void endProcess(code), (seconds + 1.5) * 1_000);
    const stopped = await app?.stop(Date.now() + seconds * 1_000).catch((error: unknown) => {
      say([explain(error).join(' ')]);
      return { degraded: true, unfinished: [] };
    });
    if (stopped?.degraded) app?.log.warn({ unfinished: stopped.unfinished }, 'shutdown_degraded');
    await endProcess(code);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(0));
  if (process.env.MORTISE_SUPERVISED === '1' && process.channel) {
    process.on('disconnect', () => stop(0));
    process.channel.unref();
  }

  try {
    app = await openApp({
      projectDir,
      safeMode,
      ownsProcess: true,
      onHostFault: (error) => {
        app?.log.error({ error: explain(error).join(' ') }, 'the host failed and starts again');
        stop(exitForRestart);
      },
    });
    const booted = app.boot();
    await Promise.race([booted, requiredSettled(app)]);
    const { origin } = await app.listen();
    if (json) process.stdout.write(`${printableJson({ started: true, url: origin })}\n`);
    const starting = app.kernel.plugins
      .records()
      .filter(({ state }) => state === 'checking' || state === 'starting').length;
    const facts = {
      ms: Math.round(process.uptime() * 1_000),
      ...(starting > 0 ? { starting } : {}),
      ...(safeMode ? { safe_mode: true } : {}),
    };
    if (app.readable) app.log.info(facts, `Mortise listens on ${origin} (Ctrl-C stops it)`);
    else app.log.info({ origin, ...facts }, `Mortise listens on ${origin}`);
    await booted;
    if (starting > 0) app.log.info('the other plugins have started');
  } catch (error) {
    if (stopping) return;
    say(explain(error));
    await endProcess(1);
  }
}

/** A plugin that hangs in its start must not keep the others from answering. */
function requiredSettled(app: App): Promise<void> {
  const patienceMs = 2_000;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const waiting = app.control
        .waiting()
        .filter(({ state }) => state === 'checking' || state === 'starting' || state === 'disabled');
      if (waiting.length === 0 && performance.now() - from > patienceMs) {
        clearInterval(timer);
        resolve();
      }
    }, 50);
    timer.unref();
    const from = performance.now();
  });
}

/** The commit of a checkout, read from git's own files; undefined outside a checkout. */
export function readCommit(projectDir: string): string | undefined {
  const read = (file: string): string | undefined => {
    try {
      return readFileSync(join(projectDir, '.git', file), 'utf8').trim();
    } catch {
      return undefined;
    }
  };
  const head = read('HEAD');
  if (head === undefined) return undefined;
  const branch = /^ref: (.+)$/.exec(head)?.[1];
  if (branch === undefined) return isCommit(head) ? head : undefined;
  const commit =
    read(branch) ??
    read('packed-refs')
      ?.split('\n')
      .find((line) => line.endsWith(` ${branch}`))
      ?.split(' ')[0];
  return commit !== undefined && isCommit(commit) ? commit : undefined;
}

function isCommit(text: string): boolean {
  return /^[0-9a-f]{40,64}$/.test(text);
}
