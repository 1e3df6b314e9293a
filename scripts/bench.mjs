// npm run bench -- <name> [options]: sets up what is missing and runs one of scripts/bench
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot, runEntry } from './lib/entry.mjs';
import { Failure } from './lib/failure.mjs';
import { watchInterrupts } from './lib/interrupts.mjs';
import { createNpm } from './lib/npm.mjs';
import { prepare } from './lib/prepare.mjs';
import { createProgress } from './lib/progress.mjs';
import { runCompiled } from './lib/run-product.mjs';

/** The npm packages that a benchmark is compared with. @type {Readonly<Record<string, readonly string[]>>} */
const peers = {
  memory: ['minisearch@7.2.0', 'lunr@2.3.9'],
  cron: ['pg-boss@11.1.2'],
  llm: ['@portkey-ai/gateway@1.15.2'],
  kb: ['minisearch@7.2.0', 'lunr@2.3.9', '@orama/orama@3.1.18', '@tobilu/qmd@2.8.3'],
};

runEntry(async () => {
  const [name = '', ...args] = process.argv.slice(2);
  const known = readdirSync(join(projectRoot, 'scripts', 'bench'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3));
  if (!known.includes(name)) throw new Failure('unknown_bench', { name, known: known.join(', ') });
  const packages = peers[name];
  const options = packages ? ['--peers', await install(packages), ...args] : args;
  return runCompiled(projectRoot, `dist/scripts/bench/${name}.js`, options);
});

/**
 * Installs peers into a separate folder. Without a network the benchmark runs with the installed ones.
 * @param {readonly string[]} packages
 */
async function install(packages) {
  const { node } = await prepare(projectRoot);
  const folder = join(projectRoot, '.runtime', 'bench');
  mkdirSync(folder, { recursive: true });
  const interrupts = watchInterrupts();
  const npm = createNpm(projectRoot, { interrupts });
  const flags = ['--ignore-scripts', '--no-package-lock', '--no-save', '--omit=optional'];
  const command = ['install', '--prefix', folder, ...flags, ...packages];
  const { say, step } = createProgress();
  try {
    await step('installing the peers', () => npm(command, { what: 'The peers', node }));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    say(`${packages.join(', ')} cannot be installed: ${error.message}`);
  } finally {
    interrupts.stop();
  }
  return folder;
}
