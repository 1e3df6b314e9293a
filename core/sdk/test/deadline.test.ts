import { expect } from 'chai';
import { startDeadline } from '../timing.js';

const nobody = new AbortController().signal;

/** Timers that keep this process alive. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

describe('the deadline of a call', () => {
  it('ends a call whose time is up', async () => {
    const deadline = startDeadline(5, nobody);
    await new Promise((resolve) => deadline.signal.addEventListener('abort', resolve));
    expect(deadline.expired).to.equal(true);
    deadline.close();
  });

  it('ends a call whose caller has left, and says that it was not the clock', () => {
    const caller = new AbortController();
    const deadline = startDeadline(60_000, caller.signal);
    caller.abort();
    expect([deadline.signal.aborted, deadline.expired]).to.deep.equal([true, false]);
    deadline.close();
  });

  it('ends at once for a caller that had left before', () => {
    const deadline = startDeadline(60_000, AbortSignal.abort());
    expect(deadline.signal.aborted).to.equal(true);
    deadline.close();
  });

  it('ends nothing that was committed', () => {
    const caller = new AbortController();
    const deadline = startDeadline(60_000, caller.signal);
    deadline.commit();
    caller.abort();
    expect(deadline.signal.aborted).to.equal(false);
    deadline.close();
  });

  it('does not start its clock again once it is closed: that would keep a stopped process alive', () => {
    const before = timers();
    const deadline = startDeadline(60_000, nobody);
    const resume = deadline.pause();
    deadline.close();
    resume();
    expect(timers()).to.equal(before);
  });

  it('leaves no timer behind, however it ends', () => {
    const before = timers();
    for (const end of [
      () => startDeadline(60_000, nobody).close(),
      () => startDeadline(0, nobody).close(),
      () => startDeadline(60_000, nobody).commit(),
    ]) {
      end();
    }
    expect(timers()).to.equal(before);
  });
});
