import { availableParallelism, loadavg } from 'node:os';
import { count, database, databases, folder, json, readArguments, someOf } from '../arguments.js';
import { appendRows } from './turns/appends.js';
import type { CpuRow } from './turns/figures.js';
import { httpTurns } from './turns/http-turns.js';
import { longChat } from './turns/long-chat.js';
import { type BenchServer, type BenchServerOptions, openServer } from './turns/server.js';
import { socketTurns } from './turns/socket-turns.js';
import { streamingModel, streamTokens } from './turns/streams.js';

/**
 * Cost of turns on a real server: CPU time of its process per turn, token and page, and turns per second and latencies,
 * which need an idle machine. Also reports whether a streamed token was lost.
 */
interface Scenario extends BenchServerOptions {
  readonly run: (server: BenchServer) => Promise<CpuRow>;
}

const values = readArguments('npm run bench -- turns', 'Cost of turns on a real server.', {
  database,
  only: someOf('of the measures', ['http', 'socket', 'streams', 'long', 'summed', 'appends']),
  turns: count('turns of a measure', 2_000),
  profile: folder('write CPU profiles of the server there'),
  json,
});
const { turns, profile } = values;

const scenarios: Readonly<Record<string, Scenario>> = {
  http: { run: (server) => httpTurns(server, { turns, concurrency: 32, earlier: 4 }) },
  socket: { run: (server) => socketTurns(server, turns) },
  streams: {
    model: streamingModel,
    env: { MORTISE_MAX_CONCURRENT_TURNS: '1000' },
    run: (server) => streamTokens(server, { streams: 1_000, sockets: 100, tokens: 200 }),
  },
  long: { run: (server) => longChat(server, 10_000, false) },
  summed: { run: (server) => longChat(server, 10_000, true) },
};

const rows: CpuRow[] = [];
const say = (row: CpuRow): void => {
  rows.push(row);
  if (!values.json) process.stdout.write(`${text(row)}\n`);
};
const wanted = (name: string): boolean => values.only.some((one) => one === name);
for (const dialect of databases) {
  if (values.database !== undefined && values.database !== dialect) continue;
  for (const [name, { run, ...rest }] of Object.entries(scenarios)) {
    if (!wanted(name)) continue;
    const server = await openServer(dialect, { ...rest, profile });
    try {
      say(await run(server));
    } finally {
      await server.dispose();
    }
  }
  if (wanted('appends')) for (const row of await appendRows(dialect)) say(row);
}
const load = loadavg().map((value) => value.toFixed(1));
if (values.json) process.stdout.write(`${JSON.stringify({ load, rows })}\n`);
else process.stdout.write(`load ${load.join(' ')} on ${availableParallelism()} cores\n`);
process.exitCode = rows.length > 0 && rows.every(({ wrong = 0 }) => wrong === 0) ? 0 : 1;

function text({ name, database: on, ...figures }: CpuRow): string {
  const shown = Object.entries(figures).map(([figure, value]) => `${figure} ${value}`);
  return `${name} (${on}): ${shown.join(', ')}`;
}
