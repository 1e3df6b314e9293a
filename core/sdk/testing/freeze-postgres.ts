import type { Database } from '../host/database.js';

/** A server whose processes stand still: its kernel accepts connections and takes what is sent, and nothing answers. */
export interface FrozenPostgres {
  thaw(): void;
}

/** Stops the server and every process of it. Whoever calls this thaws it after the test, whatever came of that: nothing
 * that waits for the server ends before. */
export async function freezePostgres(database: Database): Promise<FrozenPostgres> {
  const { rows } = await database.statement<{ pid: number }>(
    `select split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int as pid
     union select pid from pg_stat_activity`,
  );
  const pids = rows.map(({ pid }) => pid);
  const tell = (signal: 'SIGSTOP' | 'SIGCONT'): void => {
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        // A process of the server may have ended meanwhile.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
      }
    }
  };
  const thaw = (): void => {
    process.off('exit', thaw);
    tell('SIGCONT');
  };
  // A run that is given up leaves no server behind that cannot be ended.
  process.once('exit', thaw);
  tell('SIGSTOP');
  return { thaw };
}
