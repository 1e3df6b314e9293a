// npm run test:clients -- [suite [names]]: installs clients below .runtime/clients and tests each against a server
import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot, runEntry } from './lib/entry.mjs';
import { watchInterrupts } from './lib/interrupts.mjs';
import { createNpm } from './lib/npm.mjs';
import { prepare } from './lib/prepare.mjs';
import { createProgress } from './lib/progress.mjs';
import { runCompiled } from './lib/run-product.mjs';

/** Each suite is a folder of programs with their dependencies, and the test that runs them. */
const suites = ['mcp', 'models'];

const help = `Tests released clients against a server: installs them below .runtime/clients and runs each.

  npm run test:clients -- [suite [client …]] [--json]

${suites.map((suite) => `  ${suite.padEnd(8)}${clientsOf(suite).join(', ')}`).join('\n')}
  --json  print one JSON document per suite
`;

/** @param {string} suite */
function clientsOf(suite) {
  const files = readdirSync(join(projectRoot, 'scripts', 'clients', suite));
  return files.filter((file) => file.endsWith('.mjs') && file !== 'exercise.mjs').map((file) => file.slice(0, -4));
}

/**
 * Reads the arguments before anything is installed.
 * @param {readonly string[]} given
 * @returns {{ chosen: readonly string[], args: readonly string[] } | string} a string is the reason of a refusal
 */
function read(given) {
  const options = given.filter((arg) => arg.startsWith('-'));
  const [first, ...names] = given.filter((arg) => !arg.startsWith('-'));
  const wrong = options.find((option) => option !== '--json');
  if (wrong !== undefined) return `There is no option "${wrong}".`;
  if (first === undefined) return { chosen: suites, args: options };
  if (!suites.includes(first)) return `There is no suite "${first}": choose one of ${suites.join(', ')}.`;
  const unknown = names.find((name) => !clientsOf(first).includes(name));
  if (unknown !== undefined) return `There is no client "${unknown}" in ${first}: ${clientsOf(first).join(', ')}.`;
  return { chosen: [first], args: [...names, ...options] };
}

runEntry(async () => {
  const given = process.argv.slice(2);
  if (given.includes('--help') || given.includes('-h')) {
    process.stdout.write(help);
    return 0;
  }
  const wanted = read(given);
  if (typeof wanted === 'string') {
    process.stderr.write(`${wanted} ("npm run test:clients -- --help" lists the clients.)\n`);
    return 2;
  }
  const { chosen, args } = wanted;
  const { node } = await prepare(projectRoot);
  const interrupts = watchInterrupts();
  const npm = createNpm(projectRoot, { interrupts });
  const folders = new Map();
  for (const suite of chosen) {
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
