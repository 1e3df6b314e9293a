// npm run test:clients -- [names]: installs MCP clients into .runtime/clients and tests each against a server
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot, runEntry } from './lib/entry.mjs';
import { watchInterrupts } from './lib/interrupts.mjs';
import { createNpm } from './lib/npm.mjs';
import { prepare } from './lib/prepare.mjs';
import { createProgress } from './lib/progress.mjs';
import { runCompiled } from './lib/run-product.mjs';

runEntry(async () => {
  const { node } = await prepare(projectRoot);
  const folder = join(projectRoot, '.runtime', 'clients');
  mkdirSync(folder, { recursive: true });
  cpSync(join(projectRoot, 'scripts', 'clients', 'programs'), folder, { recursive: true });
  const interrupts = watchInterrupts();
  const npm = createNpm(projectRoot, { interrupts });
  const install = ['install', '--prefix', folder, '--ignore-scripts', '--no-package-lock'];
  await createProgress().step('installing the clients', () => npm(install, { what: 'The clients', node }));
  interrupts.stop();
  return runCompiled(projectRoot, 'dist/scripts/clients/main.js', [folder, ...process.argv.slice(2)]);
});
