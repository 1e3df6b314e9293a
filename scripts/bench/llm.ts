/**
 * The model gateway on `/v1/messages` beside the API itself, a bare undici proxy and Portkey's open gateway, in interleaved rounds.
 *
 *     npm run bench -- llm [--only latency,throughput,first,streams,memory] [--seconds 10] [--rounds 5] [--requests 1000000]
 *                          [--profile FOLDER] [--json]
 *
 * Portkey's gateway is installed into a folder of its own; without it the rest is measured.
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { measureFirstEvent } from './llm/first-event.js';
import { type Gateways, openGateways } from './llm/gateways.js';
import { measureManyStreams } from './llm/many-streams.js';
import { memorySlope } from './llm/memory-slope.js';
import { measureLatency, measureThroughput } from './llm/pass-through.js';
import { type Figure, figureLine, isMet, type MeasureOptions } from './parts/measure.js';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'latency,throughput,first,streams,memory' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '1000000' },
    peers: { type: 'string' },
    profile: { type: 'string' },
    json: { type: 'boolean' },
  },
});

type GatewayMeasure = (gateways: Gateways, options: MeasureOptions) => Promise<readonly Figure[]>;

const measures: Readonly<Record<string, GatewayMeasure>> = {
  latency: measureLatency,
  throughput: measureThroughput,
  first: measureFirstEvent,
  streams: measureManyStreams,
  memory: memorySlope(Number(values.requests)),
};
const wanted = values.only.split(',');
const unknown = wanted.filter((name) => !Object.hasOwn(measures, name));
if (unknown.length > 0)
  throw new Error(`There is no ${unknown.join(', ')}; there are ${Object.keys(measures).join(', ')}.`);

const say = (line: string): void => {
  if (!values.json) process.stderr.write(`${line}\n`);
};
const gateways = await openGateways(values.peers, values.profile);
const figures: Figure[] = [];
try {
  const options = { seconds: Number(values.seconds), rounds: Number(values.rounds), say };
  for (const name of wanted) figures.push(...((await measures[name]?.(gateways, options)) ?? []));
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
