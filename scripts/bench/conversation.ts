import { loadavg } from 'node:os';
import { count, json, readArguments, someOf } from '../arguments.js';
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
 * Load on the conversation and its gate, with a handler instead of the agent: throughput, many sessions with waiting
 * turns, idle sessions, a hanging egress adapter, changes while messages pass, and the latency added to one request.
 * Wall-clock figures need an idle machine; CPU time is reported in addition.
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

const {
  only,
  soak: millions,
  json: isJson,
} = readArguments('npm run bench -- conversation', 'Load on the conversation and its gate.', {
  only: someOf('of the measures', Object.keys(scenarios)),
  soak: count('run this many million observations instead', 0),
  json,
});
const chosen =
  millions > 0
    ? [['soak', () => soak(millions)] as const]
    : Object.entries(scenarios).filter(([name]) => only.includes(name));
let ok = chosen.length > 0;
for (const [name, measure] of chosen) {
  const measured = await measure();
  ok &&= measured.ok;
  const row = { name, ...measured, load: loadavg()[0] };
  process.stdout.write(`${JSON.stringify(row, null, isJson ? 0 : 2)}\n`);
}
process.exitCode = ok ? 0 : 1;
