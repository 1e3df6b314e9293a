import { syncBuiltinESMExports } from 'node:module';
import { constants } from 'node:os';

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
  const letSignalsEnd = refuseSignals(refuse);
  use(guarded);
  return () => {
    use(before);
    letSignalsEnd();
  };
}

/** What the process is told when it is to end, where it listens for that. */
const endingEvents = [...Object.keys(constants.signals), 'disconnect'];

/**
 * Whoever emits such an event itself is asked first. A true signal comes from nobody's code: what listens to it was added
 * by the host. An event without a listener gets none, which would keep the signal from what it does by itself.
 */
function refuseSignals(refuse: () => void): () => void {
  const guarded = endingEvents.filter((name) => process.listenerCount(name) > 0);
  const first = (): void => refuse();
  for (const name of guarded) process.prependListener(name as NodeJS.Signals, first);
  return () => {
    for (const name of guarded) process.off(name, first);
  };
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
