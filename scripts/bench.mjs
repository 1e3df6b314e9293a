// npm run bench -- <name> [options]: sets up what is missing and runs one of scripts/bench
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot, runEntry } from './lib/entry.mjs';
import { Failure } from './lib/failure.mjs';
import { runCompiled } from './lib/run-product.mjs';

runEntry(async () => {
  const [name = '', ...args] = process.argv.slice(2);
  const known = readdirSync(join(projectRoot, 'scripts', 'bench'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3));
  if (!known.includes(name)) throw new Failure('unknown_bench', { name, known: known.join(', ') });
  return runCompiled(projectRoot, `dist/scripts/bench/${name}.js`, args);
});
