import type { EffectiveRuntime } from './read-job-spec.js';
import type { SlotSeries } from './schedule/schedule.js';

type SkipReason = 'misfire' | 'window' | 'policy' | 'coalesced';

/** Adjacent slots that are skipped for the same reason. Epoch milliseconds. */
interface SkippedSlots {
  readonly from: number;
  readonly through: number;
  /** Null beyond 100,000. */
  readonly count: number | null;
  readonly reason: SkipReason;
}

/** The outcomes of the due slots. */
export interface SlotDecision {
  readonly skips: readonly SkippedSlots[];
  /** Slots to run, in order. */
  readonly runs: readonly number[];
  /** The first slot that is not decided: in the future, or beyond the most slots of one claim. */
  readonly next: number;
}

/** `skip` runs a slot that is at most this late, milliseconds. */
const skipToleranceMs = 5_000;
/** Slots of `run_all` in one claim. */
const maxClaimed = 1_000;
const maxCounted = 100_000;

/**
 * Decides the due slots of a job: those that are too late are skipped, the policy decides the rest. Each slot is judged by
 * its own lateness.
 *
 * @param first the first slot that has no outcome yet
 * @param now epoch milliseconds
 */
export function decideSlots(series: SlotSeries, first: number, now: number, runtime: EffectiveRuntime): SlotDecision {
  const { graceMs, windowMs, misfirePolicy } = runtime;
  const before = first - 1;
  // The latest instant whose slot is later than the limit; `from` without a limit.
  const bound = (lateMs: number, from: number): number => (lateMs > 0 ? Math.max(from, now - lateMs - 1) : from);
  const misfires = bound(graceMs, before);
  const outside = bound(windowMs, misfires);
  const refused = misfirePolicy === 'skip' ? bound(Math.max(graceMs, skipToleranceMs), outside) : outside;
  const skips = [
    ...skipped(series, before, misfires, 'misfire'),
    ...skipped(series, misfires, outside, 'window'),
    ...skipped(series, outside, refused, 'policy'),
  ];
  if (misfirePolicy === 'run_all') {
    const runs: number[] = [];
    let slot = series.next(refused);
    for (; slot <= now && runs.length < maxClaimed; slot = series.next(slot)) runs.push(slot);
    return { skips, runs, next: slot };
  }
  const newest = series.last(refused, now);
  if (newest === undefined) return { skips, runs: [], next: series.next(now) };
  return {
    skips: [...skips, ...skipped(series, refused, newest - 1, 'coalesced')],
    runs: [newest],
    next: series.next(now),
  };
}

function skipped(series: SlotSeries, after: number, through: number, reason: SkipReason): readonly SkippedSlots[] {
  const last = series.last(after, through);
  if (last === undefined) return [];
  const count = series.count(after, last, maxCounted + 1);
  return [{ from: series.next(after), through: last, count: count > maxCounted ? null : count, reason }];
}
