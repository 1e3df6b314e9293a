import { loadavg } from 'node:os';
import type { Measured } from './conversation/bench-host.js';
import { concurrent } from './conversation/concurrent.js';
import { idle } from './conversation/idle.js';
import { latency } from './conversation/latency.js';
import { reflex } from './conversation/reflex.js';
import { reload } from './conversation/reload.js';
import { slowEgress } from './conversation/slow-egress.js';
import { soak } from './conversation/soak.js';
import { throughput } from './conversation/throughput.js';

/**
 * What the conversation and its gate can take, with a handler in the place of the agent: throughput, many sessions whose
 * turns wait, idle sessions, an egress adapter that hangs, changes while messages pass, and what all of it adds to one request.
 * Wall-clock figures are only as good as the machine is idle; CPU time is reported beside them.
 *
 *     npm run bench -- conversation [--only NAME] [--soak MILLIONS] [--json]
 *
 * Heap figures need `node --expose-gc dist/scripts/bench/conversation.js`.
 */
const scenarios: Readonly<Record<string, () => Promise<Measured>>> = {
  throughput,
  concurrent,
  idle,
  latency,
  egress: slowEgress,
  reflex,
  reload,
};

const only = after('--only');
const millions = Number(after('--soak') ?? 0);
const chosen =
  millions > 0
    ? [['soak', () => soak(millions)] as const]
    : Object.entries(scenarios).filter(([name]) => only === undefined || name === only);
let ok = chosen.length > 0;
for (const [name, measure] of chosen) {
  const measured = await measure();
  ok &&= measured.ok;
  const row = { name, ...measured, load: loadavg()[0] };
  process.stdout.write(`${JSON.stringify(row, null, process.argv.includes('--json') ? 0 : 2)}\n`);
}
process.exitCode = ok ? 0 : 1;

function after(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}
