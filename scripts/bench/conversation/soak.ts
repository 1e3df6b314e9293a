import { localPrincipal } from '../../../core/sdk/testing/index.js';
import { type Measured, messageOf, openBenchHost, rounded, yieldToEventLoop } from './bench-host.js';

const limits = { heapMiBPerMillion: 1 };
const keys = 1_000_000;

/** Heap growth after the warm-up, over millions of messages with a million keys whose sessions expire. */
export async function soak(millions: number): Promise<Measured> {
  let handled = 0;
  const host = await openBenchHost(
    async () => {
      handled += 1;
    },
    { env: { MORTISE_SESSION_IDLE_TTL_SECONDS: '1', MORTISE_SESSION_IDLE_SWEEP_SECONDS: '0.2' } },
  );
  const conversation = host.service('conversation');
  const heaps: number[] = [];
  let index = 0;
  for (let million = 0; million < millions; million += 1) {
    for (let count = 0; count < 1_000_000; count += 1, index += 1) {
      conversation.publish(messageOf((index * 7_919) % keys, index), { principal: localPrincipal });
      if (index % 200 === 199) await yieldToEventLoop();
    }
    while (handled < index) await yieldToEventLoop();
    // Recently active sessions expire before the heap is measured.
    while (conversation.stats().sessions > 1) await new Promise((resolve) => setTimeout(resolve, 100));
    globalThis.gc?.();
    heaps.push(rounded(process.memoryUsage().heapUsed / 1_048_576));
  }
  await host.stop();
  const warm = heaps[Math.min(1, heaps.length - 1)] ?? 0;
  const slope = ((heaps.at(-1) ?? 0) - warm) / Math.max(heaps.length - 2, 1);
  return {
    heapMiB: heaps,
    slopeMiBPerMillion: rounded(slope, 2),
    collected: globalThis.gc !== undefined,
    limits,
    ok: slope <= limits.heapMiBPerMillion,
  };
}
