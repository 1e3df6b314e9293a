// Runs one of the checks of npm test, or a part of its tests: node scripts/check.mjs <name> [arguments for mocha]
import { checks, partialChecks } from './lib/checks.mjs';
import { projectRoot, runEntry } from './lib/entry.mjs';
import { Failure } from './lib/failure.mjs';
import { runChecks } from './lib/run-checks.mjs';

runEntry(async () => {
  const [name = '', ...args] = process.argv.slice(2);
  const all = new Map(Object.entries({ ...checks, ...partialChecks }));
  const check = all.get(name);
  if (!check) throw new Failure('unknown_check', { name, known: [...all.keys()].join(', ') });
  return runChecks(projectRoot, check.after ? [check.after, check] : [check], args);
});
