import { watchInterrupts } from './interrupts.mjs';
import { prepare } from './prepare.mjs';

/**
 * Sets up what is missing and runs all checks in order, even after a failure.
 * @param {string} root
 * @param {readonly import('./checks.mjs').Check[]} checks
 * @param {readonly string[]} args for mocha
 * @returns {Promise<number>} the exit code
 */
export async function runChecks(root, checks, args) {
  const { node } = await prepare(root, { build: false });
  const interrupts = watchInterrupts();
  const totals = { passed: 0, failed: 0 };
  let counted = false;
  /** @type {string[]} */
  const failed = [];
  for (const [index, { title, run }] of checks.entries()) {
    console.log(`\n== ${index + 1}/${checks.length} ${title}`);
    const startedAt = Date.now();
    const outcome = await run({ root, node, interrupts, args });
    interrupts.throwIfReceived();
    if (!outcome.ok) failed.push(title);
    if (outcome.totals) {
      counted = true;
      totals.passed += outcome.totals.passed;
      totals.failed += outcome.totals.failed;
    }
    console.log(`== ${title}: ${outcome.ok ? 'ok' : 'FAILED'} in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  }
  if (failed.length > 0) console.log(`\nFailed: ${failed.join(', ')}`);
  if (counted) console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
  return failed.length > 0 ? 1 : 0;
}
