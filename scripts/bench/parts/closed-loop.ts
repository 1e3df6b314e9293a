/** Figures of concurrent callers, each of which waits for an answer before its next request. */
interface LoopFigures {
  readonly operations: number;
  readonly perSecond: number;
  /** Milliseconds, ascending. */
  readonly latencies: readonly number[];
}

/** Runs `callers` loops for a time. @throws the error of `operation`, because a benchmark of refusals is meaningless */
export async function closedLoop(
  callers: number,
  seconds: number,
  operation: () => Promise<void>,
): Promise<LoopFigures> {
  const latencies: number[] = [];
  const from = performance.now();
  const end = from + seconds * 1_000;
  const caller = async (): Promise<void> => {
    for (let now = from; now < end; ) {
      await operation();
      const after = performance.now();
      latencies.push(after - now);
      now = after;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const took = (performance.now() - from) / 1_000;
  latencies.sort((a, b) => a - b);
  return { operations: latencies.length, perSecond: latencies.length / took, latencies };
}

/** The value that a share of the sorted values does not exceed. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}
