import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';

/** A living holder touches its lock this often, in milliseconds. */
const heartbeatEvery = 2_000;
/** Without a heartbeat for this long the holder is given up, though a process with its number exists (numbers are reused). */
const givenUpAfter = 60_000;
const pollEvery = 100;

/**
 * @typedef {{ id: string, pid: number, host: string, worker?: number }} Owner the worker is the child that does the
 *   holder's writing, and may outlive it
 */

/**
 * Makes sure that only one process at a time sets the project up, and that a holder that died does not block the rest.
 * The lock is a folder with a file in it: moving it into place is atomic on every file system, with its content.
 * @param {string} path
 * @param {{ onWait?: (owner: Owner) => void, throwIfInterrupted?: () => void }} [options]
 * @returns {Promise<{ note(worker: number | undefined): void, release(): void }>}
 */
export async function acquireLock(path, { onWait, throwIfInterrupted } = {}) {
  mkdirSync(dirname(path), { recursive: true });
  /** @type {Owner} */
  const owner = { id: randomUUID(), pid: process.pid, host: hostname() };
  let told = false;
  while (!place(path, owner)) {
    const holder = read(path);
    if (holder && !isAlive(path, holder) && remove(path, holder)) continue;
    if (holder && !told) {
      told = true;
      onWait?.(holder);
    }
    await new Promise((resolve) => setTimeout(resolve, pollEvery));
    throwIfInterrupted?.();
  }
  const heartbeat = setInterval(() => touch(path), heartbeatEvery);
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
 * @returns {boolean} false when somebody holds it
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
    // Windows says EPERM when the target is there.
    if (['ENOTEMPTY', 'EEXIST'].includes(error.code) || (error.code === 'EPERM' && read(path))) return false;
    throw error;
  }
}

/**
 * @param {string} path
 * @returns {Owner | undefined} undefined when nobody holds it
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
    // Taken over while this process was stopped for a minute; the release sees that it is not ours.
  }
}

/**
 * @param {string} path
 * @param {Owner} owner
 */
function isAlive(path, owner) {
  const beaten = statSync(ownerFile(path), { throwIfNoEntry: false });
  if (!beaten) return true;
  if (Date.now() - beaten.mtimeMs > givenUpAfter) return false;
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
 * Removes the lock of a dead holder. Two waiters may find it dead at once, and the slower must not remove what the
 * quicker has placed since: only who makes the folder named after the dead lock's id may remove that lock.
 * @param {string} path
 * @param {Owner} dead
 * @returns {boolean} false when another waiter is at it
 */
function remove(path, dead) {
  const right = `${path}.remove-${dead.id}`;
  try {
    mkdirSync(right);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    const made = statSync(right, { throwIfNoEntry: false });
    // Its maker died between two statements.
    if (made && Date.now() - made.mtimeMs > givenUpAfter) rmSync(right, { recursive: true, force: true });
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
 * Takes the lock away in one step: were it emptied first, a waiter could place its own into the emptied folder.
 * @param {string} path
 * @param {Owner} owner
 */
function discard(path, owner) {
  const gone = `${path}.gone-${owner.id}`;
  renameSync(path, gone);
  rmSync(gone, { recursive: true, force: true });
}
