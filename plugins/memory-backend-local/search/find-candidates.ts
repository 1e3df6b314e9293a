import type { EngineQuery, SearchEngine } from '../engine/search-engine.js';
import { type CandidatePlan, MOST_LISTED, type Probe } from './plan-candidates.js';

/** Memories that one question for the newest gives, and documents read at once: bounds memory where texts are long. */
const PAGE = 200;

/** Pages that may be asked for beyond the likeliest candidates: what a filter that fits nothing may cost. */
const MOST_PAGES = 100;

interface WeightedList {
  /** Newest first. */
  readonly seqs: readonly number[];
  readonly weight: number;
}

/** The memories of the lists, the greatest sum of weights first, and the newest first among those that have the same. */
export function byWeight(lists: readonly WeightedList[]): readonly number[] {
  const groups = new Map<number, number[]>();
  const heads = lists.map(() => 0);
  for (;;) {
    let newest = -1;
    for (let list = 0; list < lists.length; list += 1) {
      newest = Math.max(newest, lists[list]?.seqs[heads[list] ?? 0] ?? -1);
    }
    if (newest < 0) break;
    let sum = 0;
    for (let list = 0; list < lists.length; list += 1) {
      const head = heads[list] ?? 0;
      if (lists[list]?.seqs[head] !== newest) continue;
      heads[list] = head + 1;
      sum += lists[list]?.weight ?? 0;
    }
    const group = groups.get(sum);
    if (group === undefined) groups.set(sum, [newest]);
    else group.push(newest);
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
