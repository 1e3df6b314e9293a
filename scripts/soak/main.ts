import { count, database, databases, json, readArguments } from '../arguments.js';
import { brokenRules } from './invariants.js';
import { kills } from './kills.js';
import { renewals } from './renewals.js';
import { openStage } from './stage.js';
import { staleWrites } from './stale-writes.js';

/**
 * Tests the guarantees of sessions under faults: stale writes of every kind, claims that must be renewed for longer than
 * their TTL, and processes that are killed while they write.
 */
const values = readArguments('npm run soak --', 'Tests the guarantees of sessions under faults.', {
  kills: count('processes that are killed', 50),
  seed: count('repeats a run', 1),
  database,
  json,
});
const { kills: killCount, seed } = values;
const chosen = databases.filter((dialect) => values.database === undefined || values.database === dialect);

const results = [];
for (const database of chosen) {
  const stage = await openStage(database);
  try {
    const stale = await staleWrites(stage);
    for (const one of stale) say(`${database}: ${one.fault}: ${one.refused} of ${one.stale} stale writes refused`);
    const renewed = await renewals(stage, 100);
    say(`${database}: ${renewed.fenced} of ${renewed.turns} long turns fenced, ${renewed.rivalsWon} rivals won`);
    const fresh = await openStage(database);
    const killed = await kills(fresh, killCount, seed, (n) => {
      if (n % 50 === 0) say(`${database}: ${n} kills`);
    }).finally(() => fresh.dispose());
    const { interrupted, longestMs, broken } = killed;
    say(`${database}: ${killCount} kills, ${interrupted} turns interrupted, sessions free within ${longestMs} ms`);
    const ok =
      stale.every(({ stale: all, refused, changed }) => all > 0 && refused === all && changed === 0) &&
      renewed.fenced + renewed.rivalsWon + broken.length === 0;
    for (const rule of broken.slice(0, 20)) say(`${database}: BROKEN ${rule}`);
    results.push({ database, seed, ok, stale, renewed, killed, broken: await brokenRules(stage) });
  } finally {
    await stage.dispose();
  }
}
const ok = results.every((result) => result.ok);
if (values.json) process.stdout.write(`${JSON.stringify({ ok, results })}\n`);
else process.stdout.write(ok ? 'every guarantee held\n' : 'A GUARANTEE WAS VIOLATED\n');
process.exit(ok ? 0 : 1);

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
