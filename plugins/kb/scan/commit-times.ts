import { execFileSync } from 'node:child_process';

const maxOutput = 256 * 1024 * 1024;
const limitMs = 30_000;

/** The time of the last commit of every file, epoch milliseconds by path; empty outside a git repository. */
export function commitTimes(root: string): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  let log: string;
  try {
    log = execFileSync(
      'git',
      [
        '-C',
        root,
        '-c',
        'core.quotePath=false',
        'log',
        '--format=%x01%ct',
        '--name-only',
        '--no-renames',
        '-z',
        '--relative',
      ],
      { encoding: 'utf8', maxBuffer: maxOutput, timeout: limitMs, stdio: ['ignore', 'pipe', 'ignore'] },
    );
  } catch {
    return times;
  }
  for (const commit of log.split('\u0001')) {
    const [seconds, ...paths] = commit.split(/[\0\n]+/);
    const time = Number(seconds) * 1_000;
    if (!Number.isFinite(time)) continue;
    for (const path of paths) if (path !== '' && !times.has(path)) times.set(path, time);
  }
  return times;
}
