import type { BenchServer } from './server.js';

/** Cost of equal operations. */
export interface CpuRow {
  readonly name: string;
  readonly database: string;
  readonly operations: number;
  /** By the wall clock, which needs an idle machine. */
  readonly perSecond?: number;
  /** CPU time of the server alone. */
  readonly cpuMsEach: number;
  readonly [figure: string]: number | string | undefined;
}

/** Runs the operations and reads the server's CPU clock before and after. */
export async function measured(
  name: string,
  operations: number,
  server: Pick<BenchServer, 'cpuMs' | 'dialect'>,
  run: () => Promise<void>,
  more: () => Readonly<Record<string, number>> = () => ({}),
): Promise<CpuRow> {
  const cpuFrom = server.cpuMs();
  const from = performance.now();
  await run();
  const seconds = (performance.now() - from) / 1_000;
  const cpuMs = server.cpuMs() - cpuFrom;
  return {
    name,
    database: server.dialect,
    operations,
    perSecond: Math.round(operations / seconds),
    cpuMsEach: rounded(cpuMs / operations),
    ...more(),
  };
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return rounded(sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN);
}

export function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
