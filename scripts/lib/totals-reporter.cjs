const { writeFileSync } = require('node:fs');
const { reporters, Runner } = require('mocha');

/** After the last test nothing should keep the process alive; what does is reported after this many milliseconds. */
const lingerLimit = 10_000;

/** Shows the tests as they run, and leaves their totals as JSON in the file named by MORTISE_TEST_TOTALS. */
module.exports = class TotalsReporter extends reporters.Spec {
  /**
   * @param {import('mocha').Runner} runner
   * @param {import('mocha').MochaOptions} options
   */
  constructor(runner, options) {
    super(runner, options);
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures } = this.stats;
      writeFileSync(String(process.env.MORTISE_TEST_TOTALS), JSON.stringify({ passed: passes, failed: failures }));
      setTimeout(() => {
        console.error(`The tests ended but left open: ${process.getActiveResourcesInfo().join(', ')}`);
        process.exit(1);
      }, lingerLimit).unref();
    });
  }
};
