import { syncBuiltinESMExports } from 'node:module';

/** `process.exit` ends with it, and it is as good when called by itself. */
type ReallyExit = { reallyExit(code?: number): never };

/**
 * Calls `refuse` first wherever code of this process ends it: `refuse` throws where a plugin tries. What a plugin lets
 * other processes or native code do is out of reach. @returns the undo step.
 */
export function refuseEnds(refuse: () => void): () => void {
  const before = {
    exit: process.exit,
    abort: process.abort,
    kill: process.kill,
    reallyExit: (process as unknown as ReallyExit).reallyExit,
  };
  const guarded: typeof before = {
    exit: (code) => {
      refuse();
      return before.exit.call(process, code);
    },
    abort: () => {
      refuse();
      return before.abort.call(process);
    },
    kill: (pid, signal) => {
      // 0 only asks whether the process is there.
      if (signal !== 0 && isOurs(pid)) refuse();
      return before.kill.call(process, pid, signal);
    },
    reallyExit: (code) => {
      refuse();
      return before.reallyExit.call(process, code);
    },
  };
  use(guarded);
  return () => use(before);
}

/** The process, its group, its launcher, or all that this user may reach. */
function isOurs(pid: number): boolean {
  return [process.pid, -process.pid, 0, process.ppid, -process.ppid, -1].includes(Number(pid));
}

function use(members: Readonly<Record<string, unknown>>): void {
  Object.assign(process, members);
  // import { exit } from 'node:process' must get it too.
  syncBuiltinESMExports();
}
