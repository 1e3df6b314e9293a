import { randomInt } from 'node:crypto';
import { count, database, databases, json, readArguments } from '../../arguments.js';
import { type CronChaosResult, runCronChaos } from './run-cron-chaos.js';

const options = {
  kills: count('processes that are killed', 20),
  seed: count('repeats a run; a random one when absent'),
  jobs: count('scheduled jobs', 40),
  jumps: count('clocks that are shifted by an hour', 0),
  database,
  json,
};

/** `npm run chaos -- cron`. @returns the exit code */
export async function cronChaos(args: readonly string[]): Promise<number> {
  const values = readArguments(
    'npm run chaos -- cron',
    'Kills servers with scheduled jobs, and reports slots that were missed or duplicated.',
    options,
    args,
  );
  const { kills, jobs, jumps, json: isJson, seed = randomInt(1_000_000) } = values;
  const chosen = databases.filter((one) => values.database === undefined || values.database === one);
  const results = await Promise.all(
    chosen.map((dialect) =>
      runCronChaos({
        database: dialect,
        kills,
        seed,
        jobs,
        jumps,
        onKill: (killed) => {
          if (!isJson && killed % 10 === 0) process.stderr.write(`${dialect}: ${killed} kills\n`);
        },
      }),
    ),
  );
  const ok = results.every((one) => one.ok);
  process.stdout.write(isJson ? `${JSON.stringify({ ok, results })}\n` : `${results.map(reportText).join('\n\n')}\n`);
  return ok ? 0 : 1;
}

const maxShown = 20;

function reportText(result: CronChaosResult): string {
  const { database, seed, killed, suspended, jumped, jumps, slots, runs, violations, kills, jobs } = result;
  const figures = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .sort(([, a], [, b]) => b - a)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ');
  return [
    `${database}: ${killed} kills, ${suspended} suspended, ${jumped} clocks set, seed ${seed}`,
    `slots: ${figures(slots)}`,
    `runs: ${figures(runs)}`,
    violations.length === 0 ? 'no violation' : `${violations.length} violations:`,
    ...violations.slice(0, maxShown),
    ...(violations.length === 0
      ? []
      : [
          `again: npm run chaos -- cron --kills ${kills} --seed ${seed} --jobs ${jobs} --jumps ${jumps} --database ${database}`,
        ]),
  ].join('\n');
}
