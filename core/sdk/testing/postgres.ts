import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findPostgres } from './postgres-binaries.js';

/** A PostgreSQL server that belongs to this run. */
export interface ThrowAwayPostgres {
  readonly port: number;
  /** Stops the server and closes its connections; the data is kept. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server and removes its folder. */
  dispose(): Promise<void>;
}

/**
 * Starts a PostgreSQL server in a separate folder, on a free loopback port, without a password and without fsync.
 * It does not keep this process alive, and does not outlive it.
 *
 * @param folder an unused path in the run's folder
 */
export async function startPostgres(folder: string): Promise<ThrowAwayPostgres> {
  const { bin, packaged } = findPostgres();
  const guardian = fileURLToPath(new URL('./postgres-guardian.js', import.meta.url));
  // A separate session, because Ctrl-C reaches the whole group and the guardian must outlive the run briefly.
  const child = spawn(process.execPath, [guardian, folder, bin, packaged?.native ?? '-'], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const waiting: ((line: string) => void)[] = [];
  lines.on('line', (line) => waiting.shift()?.(line));
  lines.on('close', () => {
    for (const answer of waiting.splice(0)) answer('failed the guardian ended');
  });
  // The pipes of a child are sockets, which their types do not show.
  const handles: readonly { ref?(): unknown; unref?(): unknown }[] = [
    child,
    child.stdin as Socket,
    child.stdout as Socket,
  ];
  const hold = (held: boolean): void => {
    for (const handle of handles) held ? handle.ref?.() : handle.unref?.();
  };

  const next = async (expected: string): Promise<string> => {
    hold(true);
    const line = await new Promise<string>((resolve) => waiting.push(resolve));
    hold(false);
    if (!line.startsWith(expected)) throw new Error(`The PostgreSQL server for tests: ${line}`);
    return line;
  };
  const ask = (line: string, expected: string): Promise<string> => {
    child.stdin.write(`${line}\n`);
    return next(expected);
  };

  const port = Number((await next('ready')).split(' ')[1]);
  return {
    port,
    stop: async () => void (await ask('stop', 'stopped')),
    start: async () => void (await ask('start', 'ready')),
    async dispose() {
      hold(true);
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.stdin.end('dispose\n');
      await ended;
    },
  };
}
