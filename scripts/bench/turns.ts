import { availableParallelism, loadavg } from 'node:os';
import { appendRows } from './turns/appends.js';
import type { CpuRow } from './turns/figures.js';
import { httpTurns } from './turns/http-turns.js';
import { longChat } from './turns/long-chat.js';
import { type BenchServer, type BenchServerOptions, type Dialect, openServer } from './turns/server.js';
import { socketTurns } from './turns/socket-turns.js';
import { streamingModel, streamTokens } from './turns/streams.js';

/**
 * What turns cost on a real server: CPU time of its process for each turn, token and page, beside turns in a second and
 * latencies, which are only as good as the machine is idle. Also reports whether a streamed token was lost.
 *
 *     npm run bench -- turns [--database sqlite|postgres] [--only NAME] [--turns N] [--profile FOLDER] [--json]
 */
interface Scenario extends BenchServerOptions {
  readonly run: (server: BenchServer) => Promise<CpuRow>;
}

const turns = Number(option('--turns') ?? 2_000);

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

const only = option('--only');
const database = option('--database');
const rows: CpuRow[] = [];
const say = (row: CpuRow): void => {
  rows.push(row);
  if (!process.argv.includes('--json')) process.stdout.write(`${text(row)}\n`);
};
const wanted = (name: string): boolean => only === undefined || only.split(',').includes(name);
for (const dialect of ['sqlite', 'postgres'] as const satisfies Dialect[]) {
  if (database !== undefined && database !== dialect) continue;
  for (const [name, { run, ...rest }] of Object.entries(scenarios)) {
    if (!wanted(name)) continue;
    const server = await openServer(dialect, { ...rest, profile: option('--profile') });
    try {
      say(await run(server));
    } finally {
      await server.dispose();
    }
  }
  if (wanted('appends')) for (const row of await appendRows(dialect)) say(row);
}
const load = loadavg().map((value) => value.toFixed(1));
if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify({ load, rows })}\n`);
else process.stdout.write(`load ${load.join(' ')} on ${availableParallelism()} cores\n`);
process.exitCode = rows.length > 0 && rows.every(({ wrong = 0 }) => wrong === 0) ? 0 : 1;

function text({ name, database: on, ...figures }: CpuRow): string {
  const shown = Object.entries(figures).map(([figure, value]) => `${figure} ${value}`);
  return `${name} (${on}): ${shown.join(', ')}`;
}

function option(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}
