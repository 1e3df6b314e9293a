import { expect } from 'chai';
import { decideSlots } from '../decide-slots.js';
import { effectiveRuntime } from '../read-job-spec.js';
import { readSchedule, slotsOf } from '../schedule/schedule.js';

const from = Date.parse('2026-11-20T10:00:00Z');
const minute = 60_000;
const series = slotsOf(readSchedule({ type: 'interval', cron: '60s', timezone: 'UTC' }), from);
const at = (minutes: number, seconds = 0): number => from + minutes * minute + seconds * 1_000;

/** What becomes of the slots from the first one on: minutes that run, ranges of minutes that are skipped, the next one. */
function decide(now: number, runtime: Partial<Parameters<typeof effectiveRuntime>[0]> = {}) {
  const effective = effectiveRuntime({
    max_concurrency: 1,
    timeout_seconds: 30,
    misfire_grace_seconds: 0,
    ...runtime,
  });
  const { runs, skips, next } = decideSlots(series, at(1), now, effective);
  const minutes = (instant: number): number => (instant - from) / minute;
  return {
    runs: runs.map(minutes),
    skips: skips.map(({ from: first, through, count, reason }) => [reason, minutes(first), minutes(through), count]),
    next: minutes(next),
  };
}

describe('what becomes of due slots', () => {
  it('a slot that is due runs', () => {
    expect(decide(at(1))).to.deep.equal({ runs: [1], skips: [], next: 2 });
    expect(decide(at(1, 59))).to.deep.equal({ runs: [1], skips: [], next: 2 });
  });

  it('of missed slots the newest runs', () => {
    expect(decide(at(5, 1))).to.deep.equal({ runs: [5], skips: [['coalesced', 1, 4, 4]], next: 6 });
  });

  it('a slot within its grace runs, and those before it are misfires', () => {
    expect(decide(at(5, 10), { misfire_grace_seconds: 30 })).to.deep.equal({
      runs: [5],
      skips: [['misfire', 1, 4, 4]],
      next: 6,
    });
    expect(decide(at(5, 30), { misfire_grace_seconds: 30 }).runs).to.deep.equal([5]);
  });

  it('nothing runs when the newest slot is later than its grace', () => {
    expect(decide(at(5, 50), { misfire_grace_seconds: 30 })).to.deep.equal({
      runs: [],
      skips: [['misfire', 1, 5, 5]],
      next: 6,
    });
  });

  it('run_all runs all of them in order, as far as the window reaches', () => {
    expect(decide(at(5), { misfire_policy: 'run_all' })).to.deep.equal({ runs: [1, 2, 3, 4, 5], skips: [], next: 6 });
    expect(decide(at(10, 30), { misfire_policy: 'run_all', misfire_window_seconds: 120 })).to.deep.equal({
      runs: [9, 10],
      skips: [['window', 1, 8, 8]],
      next: 11,
    });
  });

  it('run_all claims at most a thousand at a time; the rest stays due', () => {
    const { runs, next } = decide(at(1_500), { misfire_policy: 'run_all' });
    expect([runs.length, runs[0], next]).to.deep.equal([1_000, 1, 1_001]);
  });

  it('skip runs nothing that is more than five seconds late', () => {
    expect(decide(at(60, 10), { misfire_policy: 'skip' })).to.deep.equal({
      runs: [],
      skips: [['policy', 1, 60, 60]],
      next: 61,
    });
    expect(decide(at(60, 5), { misfire_policy: 'skip' })).to.deep.equal({
      runs: [60],
      skips: [['policy', 1, 59, 59]],
      next: 61,
    });
  });

  it('grace comes before window, and both before the policy', () => {
    expect(
      decide(at(10, 1), { misfire_grace_seconds: 300, misfire_window_seconds: 120, misfire_policy: 'skip' }),
    ).to.deep.equal({
      runs: [10],
      skips: [
        ['misfire', 1, 5, 5],
        ['window', 6, 8, 3],
        ['coalesced', 9, 9, 1],
      ],
      next: 11,
    });
  });

  it('counts up to 100,000 skipped slots', () => {
    expect(decide(at(100_001)).skips).to.deep.equal([['coalesced', 1, 100_000, 100_000]]);
    expect(decide(at(100_002)).skips).to.deep.equal([['coalesced', 1, 100_001, null]]);
  });
});
