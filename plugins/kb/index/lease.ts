import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type Database from 'better-sqlite3';

/** The right to refresh one repo, held by at most one process. */
interface RepoLease {
  /** Extends the lease. @returns false when another process has taken it */
  renew(): boolean;
  release(): void;
}

/** A lease that was not renewed for this long can be taken, milliseconds. */
const expiresMs = 15_000;
const renewEveryMs = 2_000;

interface LeaseRow {
  readonly pid: number;
  readonly started: string;
  readonly token: string;
  readonly heartbeat: number;
}

/** Takes the lease of a repo; undefined while a living process holds it. */
export function takeLease(database: Database, repo: string): RepoLease | undefined {
  const token = randomUUID();
  const find = database.prepare('select pid, started, token, heartbeat from kb_leases where repo = ?');
  const taken = database
    .transaction(() => {
      const held = find.get([repo]) as LeaseRow | undefined;
      if (held !== undefined && isHeld(held)) return false;
      database
        .prepare('insert or replace into kb_leases (repo, pid, started, token, heartbeat) values (?, ?, ?, ?, ?)')
        .run([repo, process.pid, startOf(process.pid), token, Date.now()]);
      return true;
    })
    .immediate();
  if (!taken) return undefined;
  const extend = database.prepare('update kb_leases set heartbeat = ? where repo = ? and token = ?');
  let renewed = Date.now();
  return {
    renew: () => {
      const now = Date.now();
      if (now - renewed < renewEveryMs) return true;
      renewed = now;
      return extend.run([now, repo, token]).changes === 1;
    },
    release: () => {
      database.prepare('delete from kb_leases where repo = ? and token = ?').run([repo, token]);
    },
  };
}

function isHeld({ pid, started, heartbeat }: LeaseRow): boolean {
  if (Date.now() - heartbeat > expiresMs) return false;
  return isAlive(pid) && (started === '' || startOf(pid) === started);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Distinguishes a process from a later one with its id; empty where the system does not say. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
