import fc from 'fast-check';

/**
 * Loaded into every test process: properties are checked with the same inputs in every run, so that a failure comes from a
 * change. `npm run test:long` checks more inputs, with a new seed that a failure prints.
 */
fc.configureGlobal(process.env.MORTISE_TEST_ROUNDS === 'long' ? { numRuns: 4_000 } : { seed: 20_261_123 });
