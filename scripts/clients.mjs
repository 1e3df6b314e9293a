// npm run test:clients -- [suite [names]]: installs clients below .runtime/clients and tests each against a server
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot, runEntry } from './lib/entry.mjs';
import { watchInterrupts } from './lib/interrupts.mjs';
import { createNpm } from './lib/npm.mjs';
import { prepare } from './lib/prepare.mjs';
import { createProgress } from './lib/progress.mjs';
import { runCompiled } from './lib/run-product.mjs';

/** Each is a folder of programs with its own dependencies, and the test that runs them. */
const suites = ['mcp', 'models'];

runEntry(async () => {
  const [first = '', ...rest] = process.argv.slice(2);
  const chosen = suites.filter((suite) => suite === first);
  const args = chosen.length > 0 ? rest : process.argv.slice(2);
  const { node } = await prepare(projectRoot);
  const interrupts = watchInterrupts();
  const npm = createNpm(projectRoot, { interrupts });
  const folders = new Map();
  for (const suite of chosen.length > 0 ? chosen : suites) {
    const folder = join(projectRoot, '.runtime', 'clients', suite);
    mkdirSync(folder, { recursive: true });
    cpSync(join(projectRoot, 'scripts', 'clients', suite), folder, { recursive: true });
    const install = ['install', '--prefix', folder, '--ignore-scripts', '--no-package-lock'];
    await createProgress().step(`installing the ${suite} clients`, () => npm(install, { what: 'The clients', node }));
    folders.set(suite, folder);
  }
  interrupts.stop();
  let code = 0;
  for (const [suite, folder] of folders) {
    code ||= await runCompiled(projectRoot, `dist/scripts/clients/${suite}.js`, [folder, ...args]);
  }
  return code;
});
