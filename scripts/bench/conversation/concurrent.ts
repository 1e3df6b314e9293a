import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { localPrincipal } from '../../../core/sdk/testing/index.js';
import { type Measured, messageOf, openBenchHost, quantile, rounded, yieldToEventLoop } from './bench-host.js';

const limits = { p99DelayMs: 50, growthMiB: 200 };
const sessions = 10_000;
const rounds = 10;
const turnMs = 50;
/** Milliseconds in which every session gets a message: without a pause they would cause 200,000 turns a second. */
const periodMs = 1_000;

/** 10,000 sessions whose turns wait 50 ms each, ten messages a session, without a limit of turns. */
export async function concurrent(): Promise<Measured> {
  const last = new Int32Array(sessions).fill(-1);
  /** When the session could have begun its next turn: its message was there, and its last turn had ended. */
  const free = new Float64Array(sessions);
  const published = new Float64Array(sessions);
  const delays: number[] = [];
  let disordered = 0;
  let handled = 0;
  const host = await openBenchHost(
    async ({ metadata }) => {
      const { session, round } = metadata as { readonly session: number; readonly round: number };
      if (last[session] !== round - 1) disordered += 1;
      last[session] = round;
      const begun = performance.now();
      delays.push(begun - Math.max(free[session] ?? begun, published[session] ?? begun));
      await sleep(turnMs);
      // The delay of a late timer belongs to the turn.
      free[session] = performance.now();
      handled += 1;
    },
    { env: { MORTISE_MAX_CONCURRENT_TURNS: '100000' } },
  );
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const from = performance.now();
  const conversation = host.service('conversation');
  for (let next = 0; next < sessions * rounds; ) {
    const due = Math.min(((performance.now() - from) / periodMs) * sessions, sessions * rounds);
    for (; next < due; next += 1) {
      const session = next % sessions;
      published[session] = performance.now();
      conversation.publish(messageOf(session, Math.floor(next / sessions)), { principal: localPrincipal });
    }
    await yieldToEventLoop();
  }
  const deadline = performance.now() + 120_000;
  while (handled < sessions * rounds && performance.now() < deadline) await yieldToEventLoop();
  const seconds = (performance.now() - from) / 1_000;
  const growthMiB = (process.memoryUsage().rss - before) / 1_048_576;
  await host.stop();
  const p99DelayMs = quantile(delays, 0.99);
  const lost = sessions * rounds - handled;
  return {
    seconds: rounded(seconds, 2),
    p50DelayMs: rounded(quantile(delays, 0.5)),
    p99DelayMs: rounded(p99DelayMs),
    growthMiB: rounded(growthMiB),
    lost,
    disordered,
    limits,
    ok: lost === 0 && disordered === 0 && p99DelayMs <= limits.p99DelayMs && growthMiB <= limits.growthMiB,
  };
}
