import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { type DatabaseKind, UsageError } from '../options.js';
import { type CronChaosResult, runCronChaos } from './run-cron-chaos.js';

const usage =
  'npm run chaos -- cron [--kills <n>] [--seed <n>] [--jobs <n>] [--jumps <n>] [--database sqlite|postgres] [--json]';

function readArguments(args: readonly string[]) {
  const read = () => {
    try {
      return parseArgs({
        args: [...args],
        options: {
          kills: { type: 'string', default: '20' },
          seed: { type: 'string', default: String(randomInt(1_000_000)) },
          jobs: { type: 'string', default: '40' },
          jumps: { type: 'string', default: '0' },
          database: { type: 'string' },
          json: { type: 'boolean', default: false },
        },
      }).values;
    } catch (error) {
      throw new UsageError(`${error instanceof Error ? error.message : String(error)}: ${usage}`);
    }
  };
  const { kills, seed, jobs, jumps, database, json } = read();
  for (const [name, text] of Object.entries({ kills, seed, jobs, jumps })) {
    if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number, not "${text}": ${usage}`);
  }
  if (database !== undefined && database !== 'sqlite' && database !== 'postgres') {
    throw new UsageError(`--database must be sqlite or postgres, not "${database}": ${usage}`);
  }
  const databases: readonly DatabaseKind[] = database === undefined ? ['sqlite', 'postgres'] : [database];
  return { kills: Number(kills), seed: Number(seed), jobs: Number(jobs), jumps: Number(jumps), databases, json };
}

/** `npm run chaos -- cron`. @returns the exit code */
export async function cronChaos(args: readonly string[]): Promise<number> {
  let options: ReturnType<typeof readArguments>;
  try {
    options = readArguments(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  const { kills, seed, jobs, jumps, databases, json } = options;
  const results = await Promise.all(
    databases.map((database) =>
      runCronChaos({
        database,
        kills,
        seed,
        jobs,
        jumps,
        onKill: (killed) => {
          if (!json && killed % 10 === 0) process.stderr.write(`${database}: ${killed} kills\n`);
        },
      }),
    ),
  );
  const ok = results.every((one) => one.ok);
  process.stdout.write(json ? `${JSON.stringify({ ok, results })}\n` : `${results.map(reportText).join('\n\n')}\n`);
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
