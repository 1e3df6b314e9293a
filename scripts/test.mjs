// npm test: sets up what is missing and runs every check. Arguments go to mocha: npm test -- --grep outbox
import { checks } from './lib/checks.mjs';
import { projectRoot, runEntry } from './lib/entry.mjs';
import { runChecks } from './lib/run-checks.mjs';

runEntry(() => runChecks(projectRoot, Object.values(checks), process.argv.slice(2)));
