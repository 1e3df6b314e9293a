import { readFileSync } from 'node:fs';

/** Readings in milliseconds since some moment in the past. */
interface WaitReading {
  /** Monotonic time. */
  readonly wall: number;
  /** Total time in which the main thread was ready to run and had no processor. */
  readonly waited: number;
}

/**
 * How long the main thread was blocked between two readings, milliseconds: the time in which it ran or slept, not that in
 * which it waited for a processor. At most `longest` is counted: when the reader itself is that late, no thread ran.
 */
export function blockedFor(before: WaitReading, after: WaitReading, longest: number): number {
  return Math.min(after.wall - before.wall, longest) - (after.waited - before.waited);
}

/** Reads how long the main thread of this process waited for a processor, from any thread of it. */
export function waitClock(pid: number): () => WaitReading {
  const file = `/proc/self/task/${pid}/schedstat`;
  if (readQueueTime(file) === undefined) return estimatedWaitClock();
  return () => ({ wall: performance.now(), waited: readQueueTime(file) ?? 0 });
}

/** @returns undefined where the kernel does not count it */
function readQueueTime(file: string): number | undefined {
  try {
    const [ran, queued] = readFileSync(file, 'utf8').split(' ').map(Number);
    return ran && queued !== undefined ? queued / 1e6 : undefined;
  } catch {
    return undefined;
  }
}

/** A process that computes for less than this share of a period counts as sleeping. */
const minShare = 0.02;

/**
 * An estimate where the system does not count: a process that computes for a part of the time waited for the rest; one
 * that does not compute sleeps.
 */
function estimatedWaitClock(): () => WaitReading {
  let last = { wall: performance.now(), computed: computedMs() };
  let waited = 0;
  return () => {
    const now = { wall: performance.now(), computed: computedMs() };
    const wall = now.wall - last.wall;
    const computed = now.computed - last.computed;
    if (computed > wall * minShare) waited += Math.max(0, wall - computed);
    last = now;
    return { wall: now.wall, waited };
  };
}

function computedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
