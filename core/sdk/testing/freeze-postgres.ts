import { readdirSync, readFileSync } from 'node:fs';
import type { Database } from '../host/database.js';

/** A server whose processes are stopped: the kernel still accepts connections and data, but nothing responds. */
export interface FrozenPostgres {
  thaw(): void;
}

/**
 * Suspends all processes of the server. The test must always thaw it, even after a failure, because all calls to the
 * server block until then.
 */
export async function freezePostgres(database: Database): Promise<FrozenPostgres> {
  const { rows } = await database.statement<{ pid: number }>(
    `select split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int as pid
     union all select pid from pg_stat_activity`,
  );
  const [server = 0, ...known] = rows.map(({ pid }) => pid);
  const stopped = new Set<number>();
  const stop = (pid: number): void => {
    if (signalTo(pid, 'SIGSTOP')) stopped.add(pid);
  };
  const thaw = (): void => {
    process.off('exit', thaw);
    for (const pid of stopped) signalTo(pid, 'SIGCONT');
  };
  // An aborted run must not leave behind a server that cannot be stopped.
  process.once('exit', thaw);
  // The postmaster first: otherwise a new connection could get a process that is not in the list.
  stop(server);
  for (const pid of [...known, ...childrenOf(server)]) stop(pid);
  return { thaw };
}

/** Child processes from `/proc`; none on systems without it. */
function childrenOf(parent: number): readonly number[] {
  const pids = attempt(() => readdirSync('/proc').map(Number), []).filter((pid) => pid > 0);
  return pids.filter((pid) => {
    // The name may contain anything but ends at the last bracket; state and parent follow it.
    const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '');
    return stat.slice(stat.lastIndexOf(')')).split(' ')[2] === String(parent);
  });
}

/** @returns false when the process has already ended */
function signalTo(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    return false;
  }
}

function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
