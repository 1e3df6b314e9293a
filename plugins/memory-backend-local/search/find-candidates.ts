import type { EngineQuery, SearchEngine } from '../engine/search-engine.js';

/** Memories that one question for the newest gives, and documents read at once: bounds memory where texts are long. */
const PAGE = 200;

/** Pages that may be asked for beyond the likeliest candidates: what a filter that fits nothing may cost. */
const MOST_PAGES = 100;

/** The newest memories that a query finds. */
export async function newestOf(engine: SearchEngine, query: EngineQuery | undefined): Promise<readonly number[]> {
  return query === undefined ? [] : engine.newest(query, Number.MAX_SAFE_INTEGER, PAGE);
}

/**
 * Further candidates page by page, none twice: those of the likeliest that were not looked at, then those that the
 * queries find, newest first. Each page is worth less than the one before.
 */
export async function* furtherPages(
  engine: SearchEngine,
  queries: readonly EngineQuery[],
  likeliest: Uint32Array,
  from: number,
): AsyncGenerator<readonly number[]> {
  for (let at = from; at < likeliest.length; at += PAGE) yield Array.from(likeliest.subarray(at, at + PAGE));
  const seen = new Set(likeliest);
  for (const query of queries) {
    let before = Number.MAX_SAFE_INTEGER;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const seqs = await engine.newest(query, before, PAGE);
      const fresh = seqs.filter((seq) => !seen.has(seq));
      for (const seq of fresh) seen.add(seq);
      if (fresh.length > 0) yield fresh;
      if (seqs.length < PAGE) break;
      before = Math.min(...seqs);
    }
  }
}
