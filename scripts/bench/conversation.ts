import { performance } from 'node:perf_hooks';
import { createTestHost, type TestPlugin } from '../../core/sdk/testing/index.js';

/**
 * How many messages pass bus, router, worker and gate in a second when the handler returns at once: 100,000 messages over
 * 10,000 sessions. Tells also whether any was lost or came out of order.
 *
 *     node dist/scripts/bench/conversation.js [--json]
 */
const limits = { perSecond: 40_000 };
const sessions = 10_000;
const rounds = 10;

const last = new Int32Array(sessions).fill(-1);
let handled = 0;
let disordered = 0;

const handler: TestPlugin = {
  manifest: {
    key: 'bench-handler',
    contributes: { 'observation-handler': [{ key: 'bench', facts: { types: ['message'] } }] },
  },
  definition: {
    key: 'bench-handler',
    register(host) {
      host.contribute('observation-handler', 'bench', {
        types: ['message'],
        async handle({ metadata }) {
          const { session, round } = metadata as { readonly session: number; readonly round: number };
          if (last[session] !== round - 1) disordered += 1;
          last[session] = round;
          handled += 1;
        },
      });
    },
  },
};

const host = await createTestHost({
  plugins: ['conversation', 'gate', 'channel-console'],
  extra: [handler],
  listen: false,
  env: { MORTISE_BUS_CAPACITY: '1000000', MORTISE_LOG_LEVEL: 'warn', MORTISE_TICK_SECONDS: '0' },
});
const conversation = host.service('conversation');
const from = performance.now();
const cpuFrom = process.cpuUsage();
for (let round = 0; round < rounds; round += 1) {
  for (let session = 0; session < sessions; session += 1) {
    conversation.publish({
      source_name: 'bench',
      ingress: 'adapter',
      session_key: `console:u${session}:s`,
      actor: { actor_type: 'user', actor_id: `u${session}` },
      payload: { text: `message ${round} of session ${session}, with some more words to read` },
      metadata: { session, round },
    });
    // As sockets and requests would come in: a few at a time.
    if (session % 200 === 199) await new Promise((resolve) => setImmediate(resolve));
  }
}
const deadline = performance.now() + 60_000;
while (handled < rounds * sessions && performance.now() < deadline) {
  await new Promise((resolve) => setImmediate(resolve));
}
const seconds = (performance.now() - from) / 1_000;
const cpu = process.cpuUsage(cpuFrom);
const perCpuSecond = Math.round(handled / ((cpu.user + cpu.system) / 1e6));
const lost = rounds * sessions - handled;
await host.stop();
const ok = perCpuSecond >= limits.perSecond && lost === 0 && disordered === 0;
const result = { perSecond: Math.round(handled / seconds), perCpuSecond, lost, disordered, ok, limits };
process.stdout.write(`${JSON.stringify(result, null, process.argv.includes('--json') ? 0 : 2)}\n`);
process.exitCode = ok ? 0 : 1;
