/**
 * The memory gateway beside its bounds and peers, in interleaved rounds.
 *
 *     npm run bench -- memory [--only stores,calls,query,context,outbox,content,health,report,tokens] [--seconds 10] [--rounds 5] [--json]
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
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

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(measures).join(',') },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '5' },
    peers: { type: 'string' },
    json: { type: 'boolean' },
  },
});
const wanted = values.only.split(',');
const unknown = wanted.filter((name) => !Object.hasOwn(measures, name));
if (unknown.length > 0)
  throw new Error(`There is no ${unknown.join(', ')}; there are ${Object.keys(measures).join(', ')}.`);

const figures = [];
for (const name of wanted) {
  const run = measures[name];
  if (run === undefined) continue;
  const say = (line: string): void => {
    if (!values.json) process.stderr.write(`  ${line}\n`);
  };
  const measured = await run({
    seconds: Number(values.seconds),
    rounds: Number(values.rounds),
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
