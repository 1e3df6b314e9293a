const { appendFileSync } = require('node:fs');
const { relative } = require('node:path');
const { reporters, Runner } = require('mocha');

/** Milliseconds after the last test at which resources that keep the process alive are reported. */
const lingerLimit = 10_000;

/**
 * Prints the tests as they run, and appends a line of JSON per event to the file named by MORTISE_TEST_RESULTS, so that
 * the progress of a process that dies is known. See the type Event in run-tests.mjs.
 */
module.exports = class TestReporter extends reporters.Spec {
  /**
   * @param {import('mocha').Runner} runner
   * @param {import('mocha').MochaOptions} options
   */
  constructor(runner, options) {
    super(runner, options);
    const { EVENT_TEST_BEGIN, EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_RUN_END } = Runner.constants;
    let last = performance.now();
    /**
     * @param {string} event
     * @param {import('mocha').Runnable} [test]
     * @param {object} [more]
     */
    const note = (event, test, more) => {
      const about = test && { file: relative(process.cwd(), test.file ?? ''), title: test.fullTitle() };
      const line = JSON.stringify({ event, ...about, ...more });
      appendFileSync(String(process.env.MORTISE_TEST_RESULTS), `${line}\n`);
    };
    /** Milliseconds since the end of the previous test, so that hooks count too. */
    const spent = () => {
      const before = last;
      last = performance.now();
      return Math.round(last - before);
    };
    runner.on(EVENT_TEST_BEGIN, (test) => note('begin', test));
    runner.on(EVENT_TEST_PASS, (test) => note('pass', test, { ms: spent() }));
    runner.on(EVENT_TEST_FAIL, (test, error) => note('fail', test, { ms: spent(), error: error?.stack ?? `${error}` }));
    runner.once(EVENT_RUN_END, () => {
      note('end');
      setTimeout(() => {
        console.error(`The tests ended but left open: ${process.getActiveResourcesInfo().join(', ')}`);
        process.exit(1);
      }, lingerLimit).unref();
    });
  }

  /**
   * Prints the differences of failed assertions; the caller prints the totals of all processes.
   * @override
   */
  epilogue() {
    if (this.failures.length > 0) reporters.Base.list(this.failures);
  }
};
