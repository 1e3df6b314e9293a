import { expect } from 'chai';
import { testDialects } from 'mortise/sdk/testing';
import { callKinds } from '../stops/calls.js';
import { runStops } from '../stops/run-stops.js';

describe('a server that is ended while answers are under way', function () {
  this.timeout(300_000);
  for (const database of testDialects()) {
    it(`leaves no call that was begun without its answer or a code (${database})`, async () => {
      const { begun, violations } = await runStops({ database, rounds: 5, seed: 20261122 });
      expect(violations).to.deep.equal([]);
      // A kind of which nothing was under way proves nothing.
      for (const kind of callKinds) expect(begun[kind], kind).not.to.deep.equal({});
    });
  }
});
