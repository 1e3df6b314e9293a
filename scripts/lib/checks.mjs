import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJson } from './json-file.mjs';
import { nodeFlags } from './node-flags.mjs';
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

/** Everything about memories, and what of it stops and starts a memory backend, or the worker that delivers to it. */
const gatewayTests = [
  'dist/plugins/{logbook,logbook-tools,mcp-*,memory-*,evidence-store,text-analysis}/test/**/*.test.js',
  'dist/test/{memory,conformance}/**/*.test.js',
];
const backendTests = [
  'dist/plugins/memory-{backend-openmemory,outbox,reconcile}/test/**/*.test.js',
  'dist/plugins/memory-gateway/test/remote/**/*.test.js',
  'dist/test/memory/remote/**/*.test.js',
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
  unit: {
    title: 'Unit tests',
    after: buildCheck,
    run: (at) =>
      mocha(at, { run: unitTests, leave: [fixtures], load: [new URL('no-network.mjs', import.meta.url).href] }),
  },
  integration: {
    title: 'Integration tests',
    after: buildCheck,
    run: (at) => mocha(at, { run: [tests], leave: [fixtures, ...unitTests] }),
  },
  gateway: {
    title: 'Memory gateway tests',
    after: buildCheck,
    run: (at) => mocha(at, { run: gatewayTests, leave: [fixtures, ...(isHttpOnly() ? backendTests : [])] }),
  },
};

/** For machines where nothing may be stopped and started; the full run is then asked for by name. */
function isHttpOnly() {
  return process.env.HTTP_ONLY_MODE === '1' && process.env.VERIFY_FULL !== '1';
}

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
 * @param {{ extra?: NodeJS.ProcessEnv, flags?: readonly string[] }} [options] more environment, and flags of Node
 * @returns {Promise<Outcome>}
 */
async function tool({ root, node, interrupts }, script, args, { extra = {}, flags = [] } = {}) {
  const env = { ...environmentWith(node), ...extra };
  const { code } = await runChild(node, [...flags, join(root, script), ...args], {
    cwd: root,
    env,
    stdio: 'inherit',
    interrupts,
  });
  return { ok: code === 0 };
}

/**
 * @param {Surroundings} at
 * @param {{ run: readonly string[], leave: readonly string[], load?: readonly string[] }} selection `load`: modules that
 *   come before everything else
 * @returns {Promise<Outcome>}
 */
async function mocha(at, { run, leave, load = [] }) {
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
    const { ok } = await tool(at, 'node_modules/mocha/bin/mocha.js', args, {
      extra: { MORTISE_TEST_TOTALS: file },
      flags: [...nodeFlags(), ...load.flatMap((module) => ['--import', module])],
    });
    const totals = readJson(file);
    if (totals) return { ok, totals };
    console.log('The test run broke off before its end.');
    return { ok: false, totals: { passed: 0, failed: 1 } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
