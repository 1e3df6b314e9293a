import { performance } from 'node:perf_hooks';
import { cpuSeconds, type Measured, openBenchHost, publishRounds, rounded, yieldToEventLoop } from './bench-host.js';

const limits = { perSecond: 40_000 };
const sessions = 10_000;
const rounds = 10;

/** 100,000 messages over 10,000 sessions through bus, router, worker and gate to a handler that returns immediately. */
export async function throughput(): Promise<Measured> {
  const last = new Int32Array(sessions).fill(-1);
  let handled = 0;
  let disordered = 0;
  const host = await openBenchHost(async ({ metadata }) => {
    const { session, round } = metadata as { readonly session: number; readonly round: number };
    if (last[session] !== round - 1) disordered += 1;
    last[session] = round;
    handled += 1;
  });
  const from = performance.now();
  const cpuFrom = process.cpuUsage();
  await publishRounds(host, sessions, rounds);
  const deadline = performance.now() + 60_000;
  while (handled < rounds * sessions && performance.now() < deadline) await yieldToEventLoop();
  const seconds = (performance.now() - from) / 1_000;
  const cpu = cpuSeconds(cpuFrom);
  const lost = rounds * sessions - handled;
  await host.stop();
  // Other programs may share the core, so the target applies to the CPU time of this one.
  const perCpuSecond = Math.round(handled / cpu);
  return {
    perSecond: Math.round(handled / seconds),
    perCpuSecond,
    cpuMicroseconds: rounded((cpu / handled) * 1e6, 2),
    lost,
    disordered,
    limits,
    ok: perCpuSecond >= limits.perSecond && lost === 0 && disordered === 0,
  };
}
