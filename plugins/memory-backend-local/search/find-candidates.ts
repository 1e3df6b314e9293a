import type { SearchEngine } from '../engine/search-engine.js';
import type { CandidatePlan, Probe } from './plan-candidates.js';

/** Candidates that one question to the engine gives. */
const PAGE = { rank: 400, newest: 200 };

/** Pages that may be asked for beyond the first candidates: what a filter that fits nothing may cost. */
const MOST_PAGES = 100;

async function* pages(engine: SearchEngine, { query, order }: Probe): AsyncGenerator<readonly number[]> {
  if (order === 'rank') {
    yield await engine.ranked(query, PAGE.rank);
    return;
  }
  let before = Number.MAX_SAFE_INTEGER;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const seqs = await engine.newest(query, before, PAGE.newest);
    yield seqs;
    const oldest = seqs.at(-1);
    if (oldest === undefined || seqs.length < PAGE.newest) return;
    before = oldest;
  }
}

/** Candidates page by page, none twice. The first page holds the best; each further one is worth less. */
export async function* findCandidates(engine: SearchEngine, plan: CandidatePlan): AsyncGenerator<readonly number[]> {
  const seen = new Set<number>();
  const fresh = (seqs: readonly number[]): readonly number[] => {
    const found = seqs.filter((seq) => !seen.has(seq));
    for (const seq of found) seen.add(seq);
    return found;
  };
  const best: number[] = [];
  for (const probe of plan.first) {
    for await (const seqs of pages(engine, probe)) {
      best.push(...fresh(seqs));
      break;
    }
  }
  if (best.length > 0) yield best;
  for (const probe of plan.then) {
    for await (const seqs of pages(engine, probe)) {
      const found = fresh(seqs);
      if (found.length > 0) yield found;
    }
  }
}
