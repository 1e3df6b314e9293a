import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/**
 * Reads which commands start (`+`) and end (`-`). Its input ends with the process that writes it, however that ended: then it
 * ends the process groups and sessions of the commands that are left. A session is the fourth field behind the name in
 * `/proc/<pid>/stat`; systems without `/proc` end the groups alone. Processes made meanwhile are ended in the next round.
 */
const script = `
commands=' '
while read -r change leader; do
  case $change in
    +) commands="$commands$leader " ;;
    -) commands="\${commands%% $leader *} \${commands#* $leader }" ;;
  esac
done
for leader in $commands; do
  kill -9 -- "-$leader"
  for round in 1 2 3; do
    for stat in /proc/[0-9]*/stat; do
      read -r facts < "$stat" || continue
      pid=\${stat#/proc/}
      set -- \${facts##*) }
      [ "$4" = "$leader" ] && kill -9 "\${pid%/stat}"
    done
  done
done
`;

type Guard = ChildProcessByStdio<Writable, null, null>;

const guarded = new Set<number>();
let guard: Guard | undefined;

/**
 * Ends a command and its session when this process ends without doing so, such as by SIGKILL. One small process watches all
 * commands; it runs only while there are some. Not on Windows.
 *
 * @param leader the process that began the session
 * @returns what ends the guard, once the command has ended
 */
export function guardCommand(leader: number): () => void {
  if (process.platform === 'win32' || !(leader > 1)) return () => undefined;
  guarded.add(leader);
  if (guard) guard.stdin.write(`+ ${leader}\n`);
  else guard = startGuard();
  return () => {
    if (!guarded.delete(leader)) return;
    guard?.stdin.write(`- ${leader}\n`);
    if (guarded.size > 0) return;
    guard?.stdin.end();
    guard = undefined;
  };
}

/** In a session of its own, so that it outlives a signal to the group of this process. */
function startGuard(): Guard {
  const { PATH = '/usr/bin:/bin' } = process.env;
  const child = spawn('sh', ['-c', script], {
    cwd: '/',
    env: { PATH },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const gone = () => {
    if (guard === child) guard = undefined;
  };
  // Without a guard commands run as before; the next command starts another one.
  child.once('error', gone).once('exit', gone);
  child.stdin.on('error', gone);
  child.unref();
  for (const leader of guarded) child.stdin.write(`+ ${leader}\n`);
  return child;
}
