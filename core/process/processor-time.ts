import { readFileSync } from 'node:fs';

/** What a clock of the main thread's waiting has read, milliseconds since some moment in the past. */
export interface WaitReading {
  /** Monotonic time. */
  readonly wall: number;
  /** How long the main thread could have run and had no processor, in all. */
  readonly waited: number;
}

/**
 * How far a standstill of the main thread has gone on between two readings, milliseconds: the time in which it ran or
 * slept, not that in which it waited for a processor. At most `longest` is counted: when the reader itself comes that
 * late, nobody was running.
 */
export function stoodStill(before: WaitReading, after: WaitReading, longest: number): number {
  return Math.min(after.wall - before.wall, longest) - (after.waited - before.waited);
}

/** Reads how long the main thread of this process waited for a processor, from any thread of it. */
export function waitClock(pid: number): () => WaitReading {
  const file = `/proc/self/task/${pid}/schedstat`;
  if (readQueueTime(file) === undefined) return estimatedWaitClock();
  return () => ({ wall: performance.now(), waited: readQueueTime(file) ?? 0 });
}

/** Linux counts it, unless it was built without. @returns undefined when it does not tell */
function readQueueTime(file: string): number | undefined {
  try {
    const [ran, queued] = readFileSync(file, 'utf8').split(' ').map(Number);
    return ran && queued !== undefined ? queued / 1e6 : undefined;
  } catch {
    return undefined;
  }
}

/** A process that computes for less than this part of a stretch of time does not compute at all. */
const leastShare = 0.02;

/**
 * Where the system does not tell: a process that computes, and for less than the whole time, waited for the rest of it;
 * one that does not compute sleeps.
 */
function estimatedWaitClock(): () => WaitReading {
  let last = { wall: performance.now(), computed: computedMs() };
  let waited = 0;
  return () => {
    const now = { wall: performance.now(), computed: computedMs() };
    const wall = now.wall - last.wall;
    const computed = now.computed - last.computed;
    if (computed > wall * leastShare) waited += Math.max(0, wall - computed);
    last = now;
    return { wall: now.wall, waited };
  };
}

function computedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
