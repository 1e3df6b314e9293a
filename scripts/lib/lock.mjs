import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';

/** Heartbeat interval of a lock's holder in milliseconds. */
const heartbeatIntervalMs = 2_000;
/** A lock without a heartbeat for this long is stale in any case, because process ids are reused. */
const staleAfterMs = 60_000;
const pollIntervalMs = 100;

/**
 * @typedef {{ id: string, pid: number, host: string, worker?: number }} Owner the worker is the child that does the
 *   holder's writing, and may outlive it
 */

/**
 * Ensures that only one process at a time sets up the project, and that a dead holder does not block others.
 * The lock is a folder with a file in it: renaming it into place is atomic on every file system, with its content.
 * @param {string} path
 * @param {{ onWait?: (owner: Owner) => void, throwIfInterrupted?: () => void }} [options]
 * @returns {Promise<{ note(worker: number | undefined): void, release(): void }>}
 */
export async function acquireLock(path, { onWait, throwIfInterrupted } = {}) {
  mkdirSync(dirname(path), { recursive: true });
  /** @type {Owner} */
  const owner = { id: randomUUID(), pid: process.pid, host: hostname() };
  let isReported = false;
  while (!place(path, owner)) {
    const holder = read(path);
    if (holder && !isAlive(path, holder) && remove(path, holder)) continue;
    if (holder && !isReported) {
      isReported = true;
      onWait?.(holder);
    }
    await new Promise((resolve) => setTimeout(resolve, pollIntervalMs));
    throwIfInterrupted?.();
  }
  const heartbeat = setInterval(() => touch(path), heartbeatIntervalMs);
  heartbeat.unref();
  return {
    note(worker) {
      write(path, { ...owner, worker });
    },
    release() {
      clearInterval(heartbeat);
      if (read(path)?.id === owner.id) discard(path, owner);
    },
  };
}

/** @param {string} path */
const ownerFile = (path) => join(path, 'owner.json');

/**
 * @param {string} path
 * @param {Owner} owner
 */
function write(path, owner) {
  const draft = join(path, `${owner.id}.draft`);
  writeFileSync(draft, JSON.stringify(owner));
  renameSync(draft, ownerFile(path));
}

/**
 * @param {string} path
 * @param {Owner} owner
 * @returns {boolean} false when the lock is held
 */
function place(path, owner) {
  const prepared = `${path}.${owner.id}`;
  mkdirSync(prepared);
  try {
    write(prepared, owner);
    renameSync(prepared, path);
    return true;
  } catch (error) {
    rmSync(prepared, { recursive: true, force: true });
    // Windows reports EPERM when the target exists.
    if (['ENOTEMPTY', 'EEXIST'].includes(error.code) || (error.code === 'EPERM' && read(path))) return false;
    throw error;
  }
}

/**
 * @param {string} path
 * @returns {Owner | undefined} undefined when the lock is not held
 */
function read(path) {
  try {
    return JSON.parse(readFileSync(ownerFile(path), 'utf8'));
  } catch {
    return undefined;
  }
}

/** @param {string} path */
function touch(path) {
  try {
    const now = new Date();
    utimesSync(ownerFile(path), now, now);
  } catch {
    // Taken over while this process was suspended for a minute; the release detects that.
  }
}

/**
 * @param {string} path
 * @param {Owner} owner
 */
function isAlive(path, owner) {
  const heartbeat = statSync(ownerFile(path), { throwIfNoEntry: false });
  if (!heartbeat) return true;
  if (Date.now() - heartbeat.mtimeMs > staleAfterMs) return false;
  if (owner.host !== hostname()) return true;
  return [owner.pid, owner.worker].some((pid) => pid !== undefined && pid !== process.pid && exists(pid));
}

/** @param {number} pid */
function exists(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/**
 * Removes the lock of a dead holder. Two waiters may detect it at the same time, and the slower must not remove the lock that the
 * faster has placed since: only the waiter that creates the folder named after the dead lock's id may remove it.
 * @param {string} path
 * @param {Owner} dead
 * @returns {boolean} false when another waiter is removing it
 */
function remove(path, dead) {
  const right = `${path}.remove-${dead.id}`;
  try {
    mkdirSync(right);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    const made = statSync(right, { throwIfNoEntry: false });
    // Its creator died before removing it.
    if (made && Date.now() - made.mtimeMs > staleAfterMs) rmSync(right, { recursive: true, force: true });
    return false;
  }
  try {
    if (read(path)?.id === dead.id) discard(path, dead);
  } finally {
    rmdirSync(right);
  }
  return true;
}

/**
 * Removes the lock in one step: if it were emptied first, a waiter could rename its own lock over the empty folder.
 * @param {string} path
 * @param {Owner} owner
 */
function discard(path, owner) {
  const discarded = `${path}.gone-${owner.id}`;
  renameSync(path, discarded);
  rmSync(discarded, { recursive: true, force: true });
}
