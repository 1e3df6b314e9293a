import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJson } from './json-file.mjs';
import { prepare } from './prepare.mjs';
import { runChild } from './run-child.mjs';
import { environmentWith } from './runtime.mjs';

/**
 * @typedef {{ root: string, node: string, interrupts: ReturnType<typeof import('./interrupts.mjs').watchInterrupts>,
 *   args: readonly string[] }} Surroundings `args` go to mocha
 * @typedef {{ passed: number, failed: number }} Totals of tests
 * @typedef {{ ok: boolean, totals?: Totals }} Outcome
 * @typedef {{ title: string, after?: Check, run: (surroundings: Surroundings) => Promise<Outcome> }} Check
 *   `after`: what has to run before this one when it is asked for alone
 */

const tests = 'dist/**/test/**/*.test.js';
const fixtures = '**/fixtures/**';
/** These open no database: pure functions, the launcher's own processes, the layer rule. */
const unitTests = [
  'dist/**/test/unit/**/*.test.js',
  'dist/test/launcher/**/*.test.js',
  'dist/test/layers/**/*.test.js',
];

/** @type {Check} */
const buildCheck = { title: 'Types and build', run: build };

/**
 * What `npm test` runs, in this order; each is also a command of its own. A new check is a row.
 * @type {Readonly<Record<string, Check>>}
 */
export const checks = {
  build: buildCheck,
  lint: { title: 'Lint', run: (at) => tool(at, 'node_modules/@biomejs/biome/bin/biome', ['check', '.']) },
  tests: { title: 'Tests', after: buildCheck, run: (at) => mocha(at, { run: [tests], leave: [fixtures] }) },
};

/**
 * Parts of the tests, for a developer's quick run.
 * @type {Readonly<Record<string, Check>>}
 */
export const partialChecks = {
  unit: { title: 'Unit tests', after: buildCheck, run: (at) => mocha(at, { run: unitTests, leave: [fixtures] }) },
  integration: {
    title: 'Integration tests',
    after: buildCheck,
    run: (at) => mocha(at, { run: [tests], leave: [fixtures, ...unitTests] }),
  },
};

/**
 * @param {Surroundings} at
 * @returns {Promise<Outcome>}
 */
async function build(at) {
  const { errors } = await prepare(at.root);
  for (const error of errors) console.log(error);
  if (errors.length > 0) console.log(`${errors.length} type errors`);
  const scripts = await tool(at, 'node_modules/typescript/bin/tsc', ['-p', 'tsconfig.scripts.json']);
  return { ok: errors.length === 0 && scripts.ok };
}

/**
 * @param {Surroundings} at
 * @param {string} script relative to the root
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [extra]
 * @returns {Promise<Outcome>}
 */
async function tool({ root, node, interrupts }, script, args, extra = {}) {
  const env = { ...environmentWith(node), ...extra };
  const { code } = await runChild(node, [join(root, script), ...args], {
    cwd: root,
    env,
    stdio: 'inherit',
    interrupts,
  });
  return { ok: code === 0 };
}

/**
 * @param {Surroundings} at
 * @param {{ run: readonly string[], leave: readonly string[] }} selection
 * @returns {Promise<Outcome>}
 */
async function mocha(at, { run, leave }) {
  const folder = mkdtempSync(join(tmpdir(), 'mortise-totals-'));
  const file = join(folder, 'totals.json');
  const jobs = Number(process.env.MORTISE_TEST_JOBS) || 1;
  const args = [
    ...['--reporter', join(at.root, 'scripts/lib/totals-reporter.cjs')],
    ...leave.flatMap((pattern) => ['--ignore', pattern]),
    ...(jobs > 1 ? ['--parallel', '--jobs', String(jobs)] : []),
    ...at.args,
    ...run,
  ];
  try {
    const { ok } = await tool(at, 'node_modules/mocha/bin/mocha.js', args, { MORTISE_TEST_TOTALS: file });
    const totals = readJson(file);
    if (totals) return { ok, totals };
    console.log('The test run broke off before its end.');
    return { ok: false, totals: { passed: 0, failed: 1 } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
