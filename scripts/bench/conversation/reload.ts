import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { localPrincipal, type TestPlugin } from '../../../core/sdk/testing/index.js';
import { type Measured, messageOf, openBenchHost, quantile, rounded, yieldToEventLoop } from './bench-host.js';

const reloadMs = 100;
const limits = { mixed: 0, toEffectMs: reloadMs + 50 };
const swaps = 1_000;
const edits = 20;

/** A stage that checks whether the parts of a configuration belong together. */
function witness(seen: { mixed: number; asked: number }): TestPlugin {
  return {
    manifest: {
      key: 'witness',
      contributes: { 'gate-stage': [{ key: 'witness', facts: { slot: 'policy', order: -1 } }] },
    },
    definition: {
      key: 'witness',
      register: (host) =>
        void host.contribute('gate-stage', 'witness', {
          slot: 'policy',
          order: -1,
          apply(_, { config }) {
            const { scoring, bot_names: names } = config as { scoring: { question: number }; bot_names: string[] };
            seen.asked += 1;
            if (names[0] !== undefined && names[0] !== 'bot' && names[0] !== `n${scoring.question * 1e6}`) {
              seen.mixed += 1;
            }
          },
        }),
    },
  };
}

/** 1,000 new configurations while messages pass, and the time until an edited file takes effect. */
export async function reload(): Promise<Measured> {
  const seen = { mixed: 0, asked: 0 };
  const host = await openBenchHost(async () => undefined, {
    extra: [witness(seen)],
    config: { gate: { version: 1 } },
    env: { MORTISE_GATE_RELOAD_MS: String(reloadMs) },
  });
  const conversation = host.service('conversation');
  const gate = host.service('gate-control');
  const file = join(host.configDir, 'gate.json');
  const write = (n: number) =>
    writeFile(file, JSON.stringify({ version: 1, scoring: { question: n / 1e6 }, bot_names: [`n${(n / 1e6) * 1e6}`] }));
  const owner = host.app.settings.serviceFor('gate');
  let round = 0;
  for (let swap = 0; swap < swaps; swap += 1) {
    await write(swap);
    await owner.reload();
    for (let message = 0; message < 20; message += 1)
      conversation.publish(messageOf(round % 1_000, round++), { principal: localPrincipal });
    await yieldToEventLoop();
  }
  const waits: number[] = [];
  for (let edit = 0; edit < edits; edit += 1) {
    const { revision } = gate.snapshot();
    await write(500_000 + edit);
    const from = performance.now();
    while (gate.snapshot().revision === revision) await yieldToEventLoop();
    waits.push(performance.now() - from);
  }
  const { revision } = gate.snapshot();
  await host.stop();
  const toEffectMs = quantile(waits, 1);
  return {
    observations: seen.asked,
    mixed: seen.mixed,
    revision,
    toEffectMs: rounded(toEffectMs),
    limits,
    ok: seen.mixed === 0 && toEffectMs <= limits.toEffectMs && seen.asked > 0,
  };
}
