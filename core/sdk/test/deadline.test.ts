import { expect } from 'chai';
import { startDeadline } from '../timing.js';

const caller = new AbortController().signal;

/** Timers that keep this process alive. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

describe('the deadline of a call', () => {
  it('aborts a call at its time limit', async () => {
    const deadline = startDeadline(5, caller);
    await new Promise((resolve) => deadline.signal.addEventListener('abort', resolve));
    expect(deadline.expired).to.equal(true);
    deadline.close();
  });

  it('aborts a call whose caller has left, without reporting a timeout', () => {
    const caller = new AbortController();
    const deadline = startDeadline(60_000, caller.signal);
    caller.abort();
    expect([deadline.signal.aborted, deadline.expired]).to.deep.equal([true, false]);
    deadline.close();
  });

  it('aborts immediately for a caller that has already left', () => {
    const deadline = startDeadline(60_000, AbortSignal.abort());
    expect(deadline.signal.aborted).to.equal(true);
    deadline.close();
  });

  it('does not abort a committed call', () => {
    const caller = new AbortController();
    const deadline = startDeadline(60_000, caller.signal);
    deadline.commit();
    caller.abort();
    expect(deadline.signal.aborted).to.equal(false);
    deadline.close();
  });

  it('does not restart its timer once it is closed, which would keep a stopped process alive', () => {
    const before = timers();
    const deadline = startDeadline(60_000, caller);
    const resume = deadline.pause();
    deadline.close();
    resume();
    expect(timers()).to.equal(before);
  });

  it('leaves no timer behind, regardless of how it ends', () => {
    const before = timers();
    for (const end of [
      () => startDeadline(60_000, caller).close(),
      () => startDeadline(0, caller).close(),
      () => startDeadline(60_000, caller).commit(),
    ]) {
      end();
    }
    expect(timers()).to.equal(before);
  });
});
