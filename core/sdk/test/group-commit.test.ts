import { expect } from 'chai';
import { createGroupCommit, LARGEST_GROUP } from '../batching.js';

describe('the group commit', () => {
  it('commits jobs that arrive together as one group, in order', async () => {
    const groups: number[][] = [];
    const group = createGroupCommit<number, number>(async (jobs) => {
      groups.push([...jobs]);
      return jobs.map((job) => ({ value: job * 2 }));
    });
    const done = await Promise.all([1, 2, 3].map((job) => group.submit(job)));
    expect(done).to.deep.equal([2, 4, 6]);
    expect(groups).to.deep.equal([[1, 2, 3]]);
  });

  it('commits jobs that arrive during a commit as the next group', async () => {
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

  it('commits jobs from consecutive turns of the event loop as one group, up to its size', async () => {
    const groups: number[][] = [];
    const group = createGroupCommit<number, number>(
      async (jobs) => {
        groups.push([...jobs]);
        return jobs.map((value) => ({ value }));
      },
      { largest: 3 },
    );
    const done: Promise<number>[] = [];
    for (let job = 1; job <= 5; job += 1) {
      // Scheduled before the group schedules its own turn, so that each turn adds its job first.
      const turn = new Promise((resolve) => setImmediate(resolve));
      done.push(group.submit(job));
      await turn;
    }
    await Promise.all(done);
    expect(groups).to.deep.equal([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  it('commits at most one group at a time', async () => {
    const groups: number[] = [];
    const group = createGroupCommit<number, number>(async (jobs) => {
      groups.push(jobs.length);
      return jobs.map((value) => ({ value }));
    });
    await Promise.all(Array.from({ length: LARGEST_GROUP + 1 }, (_, job) => group.submit(job)));
    expect(groups).to.deep.equal([LARGEST_GROUP, 1]);
  });

  it('fails a single job alone, all jobs when the commit fails, and continues', async () => {
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
