import { performance } from 'node:perf_hooks';
import { localPrincipal } from '../../../core/sdk/testing/index.js';
import { type Measured, messageOf, openBenchHost, quantile, rounded, yieldToEventLoop } from './bench-host.js';

const limits = { p50Ms: 0.3, p99Ms: 2 };
const calls = 5_000;

/** Latency that bus, worker and gate add to one request: from `submit` to the handler, and from its end to the answer. */
export async function latency(): Promise<Measured> {
  let begun = 0;
  let ended = 0;
  const host = await openBenchHost(async () => {
    begun = performance.now();
    await yieldToEventLoop();
    ended = performance.now();
  });
  const conversation = host.service('conversation');
  const added: number[] = [];
  for (let call = 0; call < calls; call += 1) {
    const from = performance.now();
    await conversation.submit(messageOf(call % 500, call), {
      wait: { limit: 16, timeoutMs: 120_000 },
      principal: localPrincipal,
    });
    if (call >= 500) added.push(begun - from + (performance.now() - ended));
  }
  await host.stop();
  const [p50Ms, p99Ms] = [quantile(added, 0.5), quantile(added, 0.99)];
  return {
    p50Ms: rounded(p50Ms, 4),
    p99Ms: rounded(p99Ms, 4),
    limits,
    ok: p50Ms <= limits.p50Ms && p99Ms <= limits.p99Ms,
  };
}
