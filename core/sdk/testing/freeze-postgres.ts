import { readdirSync, readFileSync } from 'node:fs';
import type { Database } from '../host/database.js';

/** A server whose processes stand still: its kernel accepts connections and takes what is sent, and nothing answers. */
export interface FrozenPostgres {
  thaw(): void;
}

/**
 * Stops the server and every process of it. Whoever calls this thaws it after the test, whatever came of that: nothing
 * that waits for the server ends before.
 */
export async function freezePostgres(database: Database): Promise<FrozenPostgres> {
  const { rows } = await database.statement<{ pid: number }>(
    `select split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int as pid
     union all select pid from pg_stat_activity`,
  );
  const [server = 0, ...known] = rows.map(({ pid }) => pid);
  const stopped = new Set<number>();
  const stop = (pid: number): void => {
    if (tell(pid, 'SIGSTOP')) stopped.add(pid);
  };
  const thaw = (): void => {
    process.off('exit', thaw);
    for (const pid of stopped) tell(pid, 'SIGCONT');
  };
  // A run that is given up leaves no server behind that cannot be ended.
  process.once('exit', thaw);
  // It first: a connection that it would open meanwhile would get a process that is in no list.
  stop(server);
  for (const pid of [...known, ...childrenOf(server)]) stop(pid);
  return { thaw };
}

/** As the system knows them; none where it does not tell. */
function childrenOf(parent: number): readonly number[] {
  const pids = attempt(() => readdirSync('/proc').map(Number), []).filter((pid) => pid > 0);
  return pids.filter((pid) => {
    // The name may hold anything but ends with the last bracket; state and parent follow it.
    const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '');
    return stat.slice(stat.lastIndexOf(')')).split(' ')[2] === String(parent);
  });
}

/** @returns false when the process has ended meanwhile */
function tell(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): boolean {
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
