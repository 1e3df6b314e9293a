/**
 * The memory gateway compared with its bounds and peers, in interleaved rounds.
 */
import { cpus, loadavg } from 'node:os';
import { count, folder, json, readArguments, someOf } from '../arguments.js';
import { measureCalls } from './memory/calls.js';
import { measureContent } from './memory/content.js';
import { measureContext } from './memory/context.js';
import { measureHealth } from './memory/health.js';
import { measureOutbox } from './memory/outbox.js';
import { measureQuery } from './memory/query.js';
import { measureReport } from './memory/report.js';
import { measureStores } from './memory/stores.js';
import { measureTokens } from './memory/tokens.js';
import { figureLine, isMet, type Measure } from './parts/measure.js';

const measures: Readonly<Record<string, Measure>> = {
  stores: measureStores,
  calls: measureCalls,
  query: measureQuery,
  context: measureContext,
  outbox: measureOutbox,
  content: measureContent,
  health: measureHealth,
  report: measureReport,
  tokens: measureTokens,
};

const values = readArguments('npm run bench -- memory', 'The memory gateway, compared with its bounds and peers.', {
  only: someOf('of the measures', Object.keys(measures)),
  seconds: count('how long a round is', 10),
  rounds: count('rounds, each of every peer', 5),
  peers: folder('where the peers are installed'),
  json,
});

const figures = [];
for (const name of values.only) {
  const run = measures[name];
  if (run === undefined) continue;
  const say = (line: string): void => {
    if (!values.json) process.stderr.write(`  ${line}\n`);
  };
  const measured = await run({
    seconds: values.seconds,
    rounds: values.rounds,
    peers: values.peers,
    say,
  });
  figures.push(...measured);
  if (!values.json) for (const figure of measured) console.log(figureLine(figure));
}
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg()[0] };
if (values.json) console.log(JSON.stringify({ figures, machine }, null, 2));
else console.log(`${machine.cores} cores, ${machine.cpu}, Node ${machine.node}, load ${machine.load?.toFixed(1)}`);
process.exitCode = figures.some((figure) => isMet(figure) === false) ? 1 : 0;
