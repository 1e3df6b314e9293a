import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { type DatabaseKind, UsageError } from '../options.js';
import { runTurnChaos, type TurnChaosResult } from './run-turn-chaos.js';

const usage = 'npm run chaos -- turns [--kills <n>] [--seed <n>] [--database sqlite|postgres] [--json]';

function readArguments(args: readonly string[]) {
  const read = () => {
    try {
      return parseArgs({
        args: [...args],
        options: {
          kills: { type: 'string', default: '20' },
          seed: { type: 'string', default: String(randomInt(1_000_000)) },
          database: { type: 'string' },
          json: { type: 'boolean', default: false },
        },
      }).values;
    } catch (error) {
      throw new UsageError(`${error instanceof Error ? error.message : String(error)}: ${usage}`);
    }
  };
  const { kills, seed, database, json } = read();
  for (const [name, text] of Object.entries({ kills, seed })) {
    if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number, not "${text}": ${usage}`);
  }
  if (database !== undefined && database !== 'sqlite' && database !== 'postgres') {
    throw new UsageError(`--database must be sqlite or postgres, not "${database}": ${usage}`);
  }
  const databases: readonly DatabaseKind[] = database === undefined ? ['sqlite', 'postgres'] : [database];
  return { kills: Number(kills), seed: Number(seed), databases, json };
}

/** `npm run chaos -- turns`. @returns the exit code */
export async function turnChaos(args: readonly string[]): Promise<number> {
  let options: ReturnType<typeof readArguments>;
  try {
    options = readArguments(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  const { kills, seed, databases, json } = options;
  const results = await Promise.all(
    databases.map((database) =>
      runTurnChaos({
        database,
        // The kills are distributed over the databases.
        kills: databases.length === 1 ? kills : Math.floor((kills + databases.indexOf(database)) / databases.length),
        seed,
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

function reportText(result: TurnChaosResult): string {
  const { database, seed, kills, killed, requests, statuses, effects, longestRecoveryMs, violations } = result;
  const turns = Object.entries(statuses).map(([status, count]) => `${count} ${status}`);
  return [
    `${database}: ${killed} kills, seed ${seed}, ${requests} requests, ${effects} effects`,
    `turns: ${turns.join(', ')}; all had a status ${longestRecoveryMs} ms after a kill at the latest`,
    violations.length === 0 ? 'no violation' : `${violations.length} violations:`,
    ...violations.slice(0, maxShown),
    ...(violations.length === 0
      ? []
      : [`again: npm run chaos -- turns --kills ${kills} --seed ${seed} --database ${database}`]),
  ].join('\n');
}
