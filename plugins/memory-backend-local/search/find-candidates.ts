import type { EngineQuery, SearchEngine } from '../engine/search-engine.js';
import { type CandidatePlan, MOST_LISTED, type Probe } from './plan-candidates.js';

/** Memories that one question for the newest gives, and documents read at once: bounds memory where texts are long. */
const PAGE = 200;

/** Pages that may be asked for beyond the likeliest candidates: what a filter that fits nothing may cost. */
const MOST_PAGES = 100;

/** More lists than terms that are scored. */
const MOST_LISTS = 128;

interface WeightedList {
  readonly seqs: readonly number[];
  readonly weight: number;
}

/** The memories of the lists, the greatest sum of weights first, and the newest first among those that have the same. */
export function byWeight(lists: readonly WeightedList[]): readonly number[] {
  // Sorting numbers is ten times as fast as sorting objects: the list stands in the lowest digits.
  const keys = new Float64Array(lists.reduce((sum, { seqs }) => sum + seqs.length, 0));
  let at = 0;
  for (const [list, { seqs }] of lists.entries()) {
    for (const seq of seqs) {
      keys[at] = seq * MOST_LISTS + list;
      at += 1;
    }
  }
  keys.sort();
  const groups = new Map<number, number[]>();
  for (let from = keys.length - 1; from >= 0; ) {
    const seq = Math.floor((keys[from] ?? 0) / MOST_LISTS);
    let weight = 0;
    for (; from >= 0 && (keys[from] ?? 0) >= seq * MOST_LISTS; from -= 1) {
      weight += lists[(keys[from] ?? 0) % MOST_LISTS]?.weight ?? 0;
    }
    const group = groups.get(weight);
    if (group === undefined) groups.set(weight, [seq]);
    else group.push(seq);
  }
  return [...groups].sort(([a], [b]) => b - a).flatMap(([, seqs]) => seqs);
}

async function listsOf(
  probes: readonly Probe[],
  list: (queries: readonly EngineQuery[]) => Promise<readonly (readonly number[])[]>,
): Promise<readonly WeightedList[]> {
  if (probes.length === 0) return [];
  const lists = await list(probes.map(({ query }) => query));
  return probes.map(({ weight }, index) => ({ weight, seqs: lists[index] ?? [] }));
}

/** The candidates that are worth looking at first, the likeliest first. */
export async function likeliest(engine: SearchEngine, { complete, newest }: CandidatePlan): Promise<readonly number[]> {
  const first = Number.MAX_SAFE_INTEGER;
  return byWeight([
    ...(await listsOf(complete, (queries) => engine.newest(queries, first, MOST_LISTED))),
    ...(await listsOf(newest, (queries) => engine.newest(queries, first, PAGE))),
  ]);
}

/**
 * Further candidates page by page, none twice: those of the likeliest that were not looked at, then others, newest
 * first. Each page is worth less than the one before.
 */
export async function* furtherPages(
  engine: SearchEngine,
  { then }: CandidatePlan,
  candidates: readonly number[],
  from: number,
): AsyncGenerator<readonly number[]> {
  for (let at = from; at < candidates.length; at += PAGE) yield candidates.slice(at, at + PAGE);
  const seen = new Set(candidates);
  for (const query of then) {
    let before = Number.MAX_SAFE_INTEGER;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const [seqs = []] = await engine.newest([query], before, PAGE);
      const fresh = seqs.filter((seq) => !seen.has(seq));
      for (const seq of fresh) seen.add(seq);
      if (fresh.length > 0) yield fresh;
      if (seqs.length < PAGE) break;
      before = Math.min(...seqs);
    }
  }
}
