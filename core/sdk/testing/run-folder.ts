import { execFileSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const prefix = 'mortise-run-';

/**
 * Creates the folder of this run and removes those of dead runs. The folder is removed when the process ends.
 * Other users can traverse it, because the server may have to run as one of them.
 */
export function runFolder(): string {
  const base = [tmpdir(), '/tmp', '/var/tmp'].find(
    (folder) => existsSync(folder) && (!isRoot() || isOpenToAll(folder)),
  );
  if (base === undefined) throw new Error('There is no temporary folder that the database server may read.');
  removeDeadRuns(base);
  const folder = mkdtempSync(join(base, prefix));
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, 'owner'), String(process.pid));
  // A server that is ending may still write.
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.once('exit', remove);
  // These signals would end the process without an exit event. mocha handles SIGINT itself, and exits.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      if (signal === 'SIGINT' && process.listenerCount(signal) > 0) return;
      remove();
      process.kill(process.pid, signal);
    });
  }
  return folder;
}

/** Whether a path is in a folder of this harness, where every file is safe to destroy. */
export function isRunFile(path: string): boolean {
  return dirname(path)
    .split(/[\\/]/)
    .some((part) => part.startsWith(prefix));
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Removes folders, and possibly servers, of killed runs whose owner no longer runs. */
function removeDeadRuns(base: string): void {
  for (const name of readdirSync(base)) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(base, name);
    const owner = readNumber(join(folder, 'owner'));
    if (owner === undefined ? !isOld(folder) : isRunning(owner)) continue;
    try {
      for (const part of readdirSync(folder)) {
        const server = readNumber(join(folder, part, 'data', 'postmaster.pid'));
        if (server !== undefined && isServerOf(server, folder)) process.kill(server, 'SIGKILL');
      }
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // It belongs to another user, or another run is removing it.
    }
  }
}

function isOpenToAll(folder: string): boolean {
  for (let path = folder; ; path = dirname(path)) {
    if ((statSync(path).mode & 0o001) === 0) return false;
    if (path === dirname(path)) break;
  }
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readNumber(file: string): number | undefined {
  try {
    const value = Number.parseInt(readFileSync(file, 'utf8'), 10);
    return value > 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A folder without an owner file may be in the middle of its creation. */
function isOld(folder: string): boolean {
  try {
    return Date.now() - statSync(folder).mtimeMs > 60_000;
  } catch {
    return false;
  }
}

/** Process ids are reused, so only a process that was started on this folder is killed. */
function isServerOf(pid: number, folder: string): boolean {
  try {
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).includes(folder);
  } catch {
    return false;
  }
}

/** Whether a process with this id exists, regardless of its owner. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
