import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds, type Measured, openBenchHost, publishRounds, rounded, yieldToEventLoop } from './bench-host.js';

const limits = { timers: 0, cpuShare: 0.01, bytesEach: 4_096 };
const sessions = 10_000;
const waitMs = 10_000;

/** Cost of 10,000 idle sessions with twenty messages each: timers, CPU time and heap. */
export async function idle(): Promise<Measured> {
  let handled = 0;
  const host = await openBenchHost(async () => {
    handled += 1;
  });
  const collect = globalThis.gc ?? (() => undefined);
  // Warms up the code and fills the content cache, with few sessions.
  await publishRounds(host, 10, 6_000, 1_000);
  while (handled < 60_000) await yieldToEventLoop();
  await sleep(500);
  const baseShare = await share();
  collect();
  const before = process.memoryUsage().heapUsed;
  const timersBefore = timers();
  await publishRounds(host, sessions, 20);
  while (handled < 60_000 + sessions * 20) await yieldToEventLoop();
  await sleep(500);
  collect();
  const bytesEach = (process.memoryUsage().heapUsed - before) / sessions;
  const added = timers() - timersBefore;
  const cpuShare = (await share()) - baseShare;
  await host.stop();
  return {
    timers: added,
    cpuShare: rounded(cpuShare, 4),
    baseShare: rounded(baseShare, 4),
    bytesEach: Math.round(bytesEach),
    collected: globalThis.gc !== undefined,
    limits,
    ok: added <= limits.timers && cpuShare < limits.cpuShare && bytesEach <= limits.bytesEach,
  };
}

/** Share of one core that the process takes while nothing happens. */
async function share(): Promise<number> {
  const from = performance.now();
  const cpuFrom = process.cpuUsage();
  await sleep(waitMs);
  return cpuSeconds(cpuFrom) / ((performance.now() - from) / 1_000);
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
