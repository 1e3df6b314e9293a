import type { SearchEngine } from '../engine/search-engine.js';

/** Number of memories with each term, 0 for a term that none has. */
export type CountTerms = (terms: readonly string[], documents: number) => Promise<ReadonlyMap<string, number>>;

/** Counting a common term costs milliseconds: a count is kept while the index has grown by less than this share. */
const TOLERATED_GROWTH = 0.01;
const MOST_KEPT = 20_000;

export function createTermCounts(engine: SearchEngine): CountTerms {
  const counts = new Map<string, { readonly df: number; readonly documents: number }>();
  return async (wanted, total) => {
    if (counts.size > MOST_KEPT) counts.clear();
    const stale = wanted.filter((term) => {
      const kept = counts.get(term);
      return kept === undefined || total - kept.documents > total * TOLERATED_GROWTH;
    });
    if (stale.length > 0) {
      const found = await engine.frequencies(stale);
      // A term that none has may come with the next memory, which the next search must find.
      for (const term of stale) {
        const df = found.get(term) ?? 0;
        if (df === 0) counts.delete(term);
        else counts.set(term, { df, documents: total });
      }
    }
    return new Map(wanted.map((term) => [term, counts.get(term)?.df ?? 0]));
  };
}
