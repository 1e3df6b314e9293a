import { expect } from 'chai';
import { SpaceWatch } from '../space.js';
import { errorOf } from './expect-error.js';

describe('the space of a database', () => {
  it('is short for a minute after a write was refused, and until then nobody trusts a small one', async () => {
    let now = 0;
    const space = new SpaceWatch(() => now);
    await space.check(undefined);
    space.refused();
    expect(await errorOf(space.check(undefined))).to.include({ code: 'database_full', status: 503, retryable: true });
    now = 59_999;
    expect(await errorOf(space.check(undefined))).to.include({ code: 'database_full' });
    now = 60_000;
    await space.check(undefined);
  });

  it('is looked for on the disk of a file, and a disk that cannot be asked is no full one', async () => {
    const space = new SpaceWatch();
    await space.check(import.meta.filename);
    await space.check('/nowhere/at/all/mortise.db');
  });
});
