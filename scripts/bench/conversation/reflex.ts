import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { localPrincipal } from '../../../core/sdk/testing/index.js';
import { type Measured, openBenchHost, quantile, rounded, yieldToEventLoop } from './bench-host.js';

const limits = { p99Ms: 20, expiryErrorMs: 50 };
const suggestions = 300;
const expiries = 5;

/** Time from a suggestion on the bus to the changed snapshot, and the error of its expiry. */
export async function reflex(): Promise<Measured> {
  const host = await openBenchHost(async () => undefined, {
    plugins: ['reflex'],
    config: { gate: { version: 1, system_reflex: { cooldown_sec: 0 } } },
  });
  const conversation = host.service('conversation');
  const gate = host.service('gate-control');
  const forced = () => gate.snapshot().config.overrides.force_low_model;
  const suggest = (force_low_model: boolean, ttl_sec: number) =>
    conversation.publish(
      {
        obs_type: 'control',
        source_name: 'agent:speaker',
        source_kind: 'internal',
        payload: { kind: 'tuning_suggestion', data: { suggested_overrides: { force_low_model }, ttl_sec } },
      },
      { principal: localPrincipal },
    );
  const waits: number[] = [];
  for (let round = 0; round < suggestions; round += 1) {
    const wanted = round % 2 === 0;
    const from = performance.now();
    suggest(wanted, 600);
    while (forced() !== wanted) await yieldToEventLoop();
    waits.push(performance.now() - from);
    await sleep(1);
  }
  const errors: number[] = [];
  for (let round = 0; round < expiries; round += 1) {
    suggest(true, 1);
    while (!forced()) await yieldToEventLoop();
    const from = performance.now();
    const ended = new Promise<number>((resolve) => {
      const watch = gate.onChange(() => {
        if (forced()) return;
        void watch.dispose();
        resolve(performance.now());
      });
    });
    errors.push(Math.abs((await ended) - from - 1_000));
  }
  await host.stop();
  const p99Ms = quantile(waits, 0.99);
  const expiryErrorMs = Math.max(...errors);
  return {
    p50Ms: rounded(quantile(waits, 0.5), 3),
    p99Ms: rounded(p99Ms, 3),
    expiryErrorMs: rounded(expiryErrorMs),
    limits,
    ok: p99Ms <= limits.p99Ms && expiryErrorMs <= limits.expiryErrorMs,
  };
}
