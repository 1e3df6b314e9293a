import { readdirSync, readFileSync } from 'node:fs';

/**
 * The processes of a session, which is named by the process that began it. It holds the groups that a shell with job control
 * makes. Linux only; empty elsewhere.
 */
export function sessionMembers(leader: number): readonly number[] {
  let names: readonly string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names.filter((name) => /^\d+$/.test(name) && sessionOf(name) === leader).map(Number);
}

/**
 * The session of a process; undefined for one that has ended and was not collected yet. State and session are the first and
 * the fourth field behind the name, which may itself hold spaces and parentheses.
 */
function sessionOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state = '', , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return 'ZX'.includes(state) ? undefined : Number(session);
  } catch {
    return undefined;
  }
}

/** Processes and threads of the whole machine; 0 where it is not known. One small file, unlike a look at each process. */
function allTasks(): number {
  try {
    return Number(/\d+\/(\d+)/.exec(readFileSync('/proc/loadavg', 'latin1'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

const maxRounds = 20;

/** Ends a group and its session at once. Processes that are made meanwhile are ended in the next round. */
export function killTree(leader: number): void {
  // The numbers 0 and 1 mean other groups to the kernel.
  if (!(leader > 1)) return;
  killQuietly(-leader);
  for (let round = 0; round < maxRounds; round += 1) {
    const members = sessionMembers(leader);
    if (members.length === 0) return;
    for (const pid of members) killQuietly(pid);
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

const watchMs = 100;

/**
 * Ends a session that has more processes than allowed, such as a fork bomb. The processes are counted only while the machine
 * has many more than at the start.
 *
 * @returns what ends the watch
 */
export function watchProcesses(leader: number, limit: number, exceeded: () => void): () => void {
  const before = allTasks();
  const timer = setInterval(() => {
    if (allTasks() - before <= limit || sessionMembers(leader).length <= limit) return;
    exceeded();
    killTree(leader);
  }, watchMs);
  return () => clearInterval(timer);
}
