import { join } from 'node:path';
import { prepare } from './prepare.mjs';
import { runChild } from './run-child.mjs';
import { runTests } from './run-tests.mjs';
import { environmentWith } from './runtime.mjs';
import { hasLongRounds, isBackendTest, isGatewayTest, listTests, unitTestFilter } from './select-tests.mjs';

/**
 * @typedef {{ root: string, node: string, interrupts: ReturnType<typeof import('./interrupts.mjs').watchInterrupts>,
 *   args: readonly string[] }} RunContext `args` go to mocha
 * @typedef {{ passed: number, failed: number }} Totals of tests
 * @typedef {{ ok: boolean, totals?: Totals }} Outcome
 * @typedef {{ title: string, after?: Check, run: (context: RunContext) => Promise<Outcome> }} Check
 *   `after`: the check that must run before this one when it is selected alone
 */

/** @type {Check} */
const buildCheck = { title: 'Types and build', run: build };

/**
 * The checks of `npm test`, in this order; each is also a separate command.
 * @type {Readonly<Record<string, Check>>}
 */
export const checks = {
  build: buildCheck,
  lint: { title: 'Lint', run: (at) => tool(at, 'node_modules/@biomejs/biome/bin/biome', ['check', '.']) },
  tests: { title: 'Tests', after: buildCheck, run: (at) => runTests(at, { files: listTests(at.root) }) },
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
      runTests(at, {
        files: listTests(at.root).filter(unitTestFilter(at.root)),
        database: false,
        load: [new URL('no-network.mjs', import.meta.url).href],
      }),
  },
  integration: {
    title: 'Integration tests',
    after: buildCheck,
    run: (at) => {
      const isUnitTest = unitTestFilter(at.root);
      return runTests(at, { files: listTests(at.root).filter((file) => !isUnitTest(file)) });
    },
  },
  long: {
    title: 'Long rounds of repeated tests',
    after: buildCheck,
    run: (at) =>
      runTests(at, { files: listTests(at.root).filter(hasLongRounds(at.root)), env: { MORTISE_TEST_ROUNDS: 'long' } }),
  },
  gateway: {
    title: 'Memory gateway tests',
    after: buildCheck,
    run: (at) => {
      const files = listTests(at.root).filter(isGatewayTest);
      return runTests(at, { files: isHttpOnly() ? files.filter((file) => !isBackendTest(file)) : files });
    },
  },
};

/** For machines where processes must not be stopped and started; there the full run needs an explicit variable. */
function isHttpOnly() {
  return process.env.HTTP_ONLY_MODE === '1' && process.env.VERIFY_FULL !== '1';
}

/**
 * @param {RunContext} at
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
 * @param {RunContext} at
 * @param {string} script relative to the root
 * @param {readonly string[]} args
 * @returns {Promise<Outcome>}
 */
async function tool({ root, node, interrupts }, script, args) {
  const env = environmentWith(node);
  const { code } = await runChild(node, [join(root, script), ...args], {
    cwd: root,
    env,
    stdio: 'inherit',
    interrupts,
  });
  return { ok: code === 0 };
}
