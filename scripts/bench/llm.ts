/**
 * The model gateway on `/v1/messages`, compared with the API itself, a bare undici proxy and Portkey's gateway, in
 * interleaved rounds.
 *
 * Portkey's gateway is installed into a separate folder; without it the others are measured.
 */
import { cpus, loadavg } from 'node:os';
import { count, folder, json, readArguments, someOf } from '../arguments.js';
import { measureFirstEvent } from './llm/first-event.js';
import { type Gateways, openGateways } from './llm/gateways.js';
import { measureManyStreams } from './llm/many-streams.js';
import { memorySlope } from './llm/memory-slope.js';
import { measureLatency, measureThroughput } from './llm/pass-through.js';
import { type Figure, figureLine, isMet, type MeasureOptions } from './parts/measure.js';

const values = readArguments(
  'npm run bench -- llm',
  'The model gateway, compared with a bare proxy and another gateway.',
  {
    only: someOf('of the measures', ['latency', 'throughput', 'first', 'streams', 'memory']),
    seconds: count('how long a round is', 10),
    rounds: count('rounds, each of every gateway', 5),
    requests: count('requests over which memory is watched', 1_000_000),
    peers: folder('where the other gateway is installed'),
    profile: folder('write CPU profiles of the server there'),
    json,
  },
);

type GatewayMeasure = (gateways: Gateways, options: MeasureOptions) => Promise<readonly Figure[]>;

const measures: Readonly<Record<(typeof values.only)[number], GatewayMeasure>> = {
  latency: measureLatency,
  throughput: measureThroughput,
  first: measureFirstEvent,
  streams: measureManyStreams,
  memory: memorySlope(values.requests),
};

const say = (line: string): void => {
  if (!values.json) process.stderr.write(`${line}\n`);
};
const gateways = await openGateways(values.peers, values.profile);
const figures: Figure[] = [];
try {
  const options = { seconds: values.seconds, rounds: values.rounds, say };
  for (const name of values.only) figures.push(...(await measures[name](gateways, options)));
} finally {
  await gateways.close();
}
const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, load: loadavg() };
if (values.json) process.stdout.write(`${JSON.stringify({ machine, figures })}\n`);
else {
  for (const figure of figures) process.stdout.write(`${figureLine(figure)}\n`);
  process.stdout.write(
    `${machine.cores} × ${machine.cpu}, Node ${machine.node}, load ${machine.load.map((one) => one.toFixed(1)).join(' ')}\n`,
  );
}
process.exitCode = figures.every((figure) => isMet(figure) !== false) ? 0 : 1;
