import { randomInt } from 'node:crypto';
import { count, database, databases, json, readArguments } from '../../arguments.js';
import { runTurnChaos, type TurnChaosResult } from './run-turn-chaos.js';

const options = {
  kills: count('processes that are killed', 20),
  seed: count('repeats a run; a random one when absent'),
  database,
  json,
};

/** `npm run chaos -- turns`. @returns the exit code */
export async function turnChaos(args: readonly string[]): Promise<number> {
  const values = readArguments(
    'npm run chaos -- turns',
    'Kills servers in the middle of turns, and reports turns that were lost or ran twice.',
    options,
    args,
  );
  const { kills, json: isJson, seed = randomInt(1_000_000) } = values;
  const chosen = databases.filter((one) => values.database === undefined || values.database === one);
  const results = await Promise.all(
    chosen.map((dialect) =>
      runTurnChaos({
        database: dialect,
        // The kills are distributed over the databases.
        kills: chosen.length === 1 ? kills : Math.floor((kills + chosen.indexOf(dialect)) / chosen.length),
        seed,
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
