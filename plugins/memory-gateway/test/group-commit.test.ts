import { expect } from 'chai';
import { createGroupCommit, LARGEST_GROUP } from '../write/group-commit.js';
import { createSingleFlight } from '../write/single-flight.js';

describe('the group commit', () => {
  it('commits what arrives together as one, in order', async () => {
    const groups: number[][] = [];
    const group = createGroupCommit<number, number>(async (jobs) => {
      groups.push([...jobs]);
      return jobs.map((job) => ({ value: job * 2 }));
    });
    const done = await Promise.all([1, 2, 3].map((job) => group.submit(job)));
    expect(done).to.deep.equal([2, 4, 6]);
    expect(groups).to.deep.equal([[1, 2, 3]]);
  });

  it('commits what came during a commit as the next group', async () => {
    const groups: number[] = [];
    let late: Promise<number> | undefined;
    const group = createGroupCommit<number, number>(async (jobs) => {
      groups.push(jobs.length);
      late ??= group.submit(9);
      return jobs.map((value) => ({ value }));
    });
    await group.submit(1);
    expect(await late).to.equal(9);
    expect(groups).to.deep.equal([1, 1]);
  });

  it('commits no more than a group at once', async () => {
    const groups: number[] = [];
    const group = createGroupCommit<number, number>(async (jobs) => {
      groups.push(jobs.length);
      return jobs.map((value) => ({ value }));
    });
    await Promise.all(Array.from({ length: LARGEST_GROUP + 1 }, (_, job) => group.submit(job)));
    expect(groups).to.deep.equal([LARGEST_GROUP, 1]);
  });

  it('fails one job without the others, all where the commit fails, and goes on', async () => {
    let broken = true;
    const group = createGroupCommit<number, number>(async (jobs) => {
      if (broken) throw new Error('down');
      return jobs.map((job) => (job === 2 ? { error: new Error('two') } : { value: job }));
    });
    const outcomes = async () =>
      (await Promise.allSettled([1, 2, 3].map((job) => group.submit(job)))).map(({ status }) => status);
    expect(await outcomes()).to.deep.equal(['rejected', 'rejected', 'rejected']);
    broken = false;
    expect(await outcomes()).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    await group.idle();
  });
});

describe('single flight', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('runs the first of a key alone, then the others together, and other keys beside it', async () => {
    const flight = createSingleFlight();
    const seen: string[] = [];
    const work = (name: string) => async () => {
      seen.push(`${name}+`);
      await turn();
      seen.push(`${name}-`);
      return name;
    };
    const all = await Promise.all([
      flight('k', work('a')),
      flight('k', work('b')),
      flight('k', work('c')),
      flight('x', work('d')),
    ]);
    expect(all).to.deep.equal(['a', 'b', 'c', 'd']);
    expect(seen.indexOf('d+')).to.be.lessThan(seen.indexOf('a-'));
    expect(seen.indexOf('b+')).to.be.greaterThan(seen.indexOf('a-'));
    expect(seen.indexOf('c+')).to.be.lessThan(seen.indexOf('b-'));
  });

  it('runs the others also when the first failed, and forgets the key', async () => {
    const flight = createSingleFlight();
    const failing = flight('k', async () => {
      await turn();
      throw new Error('first');
    });
    const other = flight('k', async () => 'other');
    expect(await failing.catch((error: Error) => error.message)).to.equal('first');
    expect(await other).to.equal('other');
    expect(await flight('k', async () => 'later')).to.equal('later');
  });
});
