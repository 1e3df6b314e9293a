/**
 * Kills the product at random points while its memory backend misbehaves, and runs an independent checker on the
 * result. See README.md.
 */
import { cronChaos } from './cron/command.js';
import { readOptions } from './options.js';
import { shareKills } from './plan/kills.js';
import { replay, reportText, stopText } from './report.js';
import { type ChaosResult, runChaos } from './run-chaos.js';
import { runStops, type StopResult } from './stops/run-stops.js';
import { turnChaos } from './turns/command.js';

// The exit ends the processes that a campaign has started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

// Scheduled jobs and turns have separate campaigns.
if (process.argv[2] === 'cron') process.exit(await cronChaos(process.argv.slice(3)));
if (process.argv[2] === 'turns') process.exit(await turnChaos(process.argv.slice(3)));

const { kills, stops, seed, life, databases, backends, json } = readOptions();

const REPORT_EVERY_KILLS = 50;
const runs = (kills > 0 ? shareKills(kills, databases, backends) : []).map((share) => ({
  ...share,
  seed,
  life,
  onKill: (killed: number) => {
    if (json || killed % REPORT_EVERY_KILLS !== 0) return;
    process.stderr.write(`${share.database}, ${share.backend}: ${killed} kills\n`);
  },
}));
// Concurrently, because most of a run is waiting for processes to start.
const ended = await Promise.allSettled(runs.map(runChaos));
const results = ended.flatMap((one): ChaosResult[] => (one.status === 'fulfilled' ? [one.value] : []));
for (const [index, one] of ended.entries()) {
  const run = runs[index];
  if (one.status === 'fulfilled' || run === undefined) continue;
  process.stderr.write(
    `${String(one.reason instanceof Error ? one.reason.stack : one.reason)}\nagain: ${replay(run)}\n`,
  );
}
// Rounds are distributed over the databases.
const stopped: StopResult[] = await Promise.all(
  stops === 0
    ? []
    : databases.map((database, index) =>
        runStops({ database, seed, rounds: Math.floor((stops + index) / databases.length) }),
      ),
);
const all = [...results, ...stopped];
process.stdout.write(
  json
    ? `${JSON.stringify({ ok: all.every(({ ok }) => ok), results, stops: stopped })}\n`
    : `${[...results.map(reportText), ...stopped.map(stopText)].join('\n\n')}\n`,
);
process.exit(results.length === runs.length && all.every(({ ok }) => ok) ? 0 : 1);
