import { expect } from 'chai';
import { until } from '../../sdk/testing/until.js';
import { SpaceWatch } from '../space.js';
import { errorOf } from './expect-error.js';

describe('the space of a database', () => {
  it('is low from a refused write until a larger one succeeds', async () => {
    let trials = 0;
    let regained = 0;
    const space = new SpaceWatch({
      attempt: async () => {
        trials += 1;
        // Refused during the trial, so a smaller write does not count.
        if (trials === 2) space.refused();
        if (trials === 1) throw new Error('still full');
        if (trials === 3) expect(await errorOf(space.check(undefined))).to.include({ code: 'database_full' });
      },
      regained: () => {
        regained += 1;
      },
      afterMs: 1,
    });
    await space.check(undefined);
    space.refused();
    expect(await errorOf(space.check(undefined))).to.include({ code: 'database_full', status: 503, retryable: true });
    await until('there is space again', () => regained > 0);
    await space.check(undefined);
    expect([trials, regained]).to.deep.equal([3, 1]);
  });

  it('is not checked once the database is closed', async () => {
    const space = new SpaceWatch({
      attempt: () => Promise.reject(new Error('closed')),
      regained: () => {},
      afterMs: 0,
    });
    space.refused();
    space.close();
    expect(await errorOf(space.check(undefined))).to.include({ code: 'database_full' });
  });

  it('is checked on the disk of a file; a disk whose space is unknown does not count as full', async () => {
    const space = new SpaceWatch({ attempt: async () => {}, regained: () => {} });
    await space.check(import.meta.filename);
    await space.check('/nowhere/at/all/mortise.db');
  });
});
