/** Candidates, the likeliest first and the newest first among equals. */
export interface InOrder {
  readonly seqs: Uint32Array;
  /** What each scores at the most, but for words that come often in it and those that are not listed. */
  readonly bounds: Float64Array;
}

/** Scores are told apart by this. */
const STEPS = 2 ** 19;

/** Numbers of memories are below this. */
const NUMBERS = 2 ** 32;

/** Steps from 0 to 2 that scores are counted by. */
const BINS = 1_024;

/** The greatest of the steps that `count` scores reach; 0 where there are fewer. */
export function reachedBy(seqs: readonly number[], count: number, scoreOf: (seq: number) => number): number {
  if (seqs.length < count) return 0;
  const bins = new Uint32Array(BINS);
  for (const seq of seqs) {
    const bin = Math.min(BINS - 1, Math.floor((scoreOf(seq) * BINS) / 2));
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  let reached = 0;
  for (let bin = BINS - 1; bin > 0; bin -= 1) {
    reached += bins[bin] ?? 0;
    if (reached >= count) return (2 * bin) / BINS;
  }
  return 0;
}

/** Puts candidates in order: a score and a number in one, so that they are sorted without comparing objects. */
export function inOrder(seqs: readonly number[], boundOf: (seq: number) => number): InOrder {
  const keys = new Float64Array(seqs.length);
  for (let at = 0; at < seqs.length; at += 1) {
    const seq = seqs[at] ?? 0;
    keys[at] = Math.floor(boundOf(seq) * STEPS) * NUMBERS + seq;
  }
  keys.sort().reverse();
  const sorted = new Uint32Array(keys.length);
  const bounds = new Float64Array(keys.length);
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] ?? 0;
    const step = Math.floor(key / NUMBERS);
    sorted[at] = key - step * NUMBERS;
    bounds[at] = (step + 1) / STEPS;
  }
  return { seqs: sorted, bounds };
}
