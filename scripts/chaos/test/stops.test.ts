import { expect } from 'chai';
import { testDialects } from 'mortise/sdk/testing';
import { callKinds } from '../stops/calls.js';
import { runStops } from '../stops/run-stops.js';

describe('a server that is stopped while calls are in flight', function () {
  this.timeout(300_000);
  for (const database of testDialects()) {
    it(`ends every begun call with an answer or an error code (${database})`, async () => {
      const { begun, violations } = await runStops({ database, rounds: 5, seed: 20261122 });
      expect(violations).to.deep.equal([]);
      // Each kind must have had a call in flight.
      for (const kind of callKinds) expect(begun[kind], kind).not.to.deep.equal({});
    });
  }
});
