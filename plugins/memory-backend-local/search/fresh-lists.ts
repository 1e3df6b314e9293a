import type { SearchEngine } from '../engine/search-engine.js';
import { againTerm } from '../index/index-text.js';
import type { CountTerms } from './term-counts.js';
import { LONGEST_LIST, type LookUpTerms, NO_MATCHES, type TermMatches } from './term-matches.js';

/**
 * Asks the engine at each search, for the rarest terms that have few enough matches together: on PostgreSQL a memory may
 * come to light after one with a higher number, so that no list can be read on from where it ended.
 */
export function freshLists(engine: SearchEngine, count: CountTerms): LookUpTerms {
  return async (terms, { documents }) => {
    const counts = await count(terms, documents);
    let matches = 0;
    const listed = [...counts]
      .sort(([, a], [, b]) => a - b)
      .filter(([, df]) => {
        matches += df;
        return df > 0 && matches <= LONGEST_LIST;
      })
      .map(([term]) => term);
    const nowhere = { df: 0, all: NO_MATCHES, again: NO_MATCHES };
    const found = new Map<string, TermMatches>([...counts].map(([term, df]) => [term, df === 0 ? nowhere : { df }]));
    if (listed.length === 0) return found;
    const asked = [...listed, ...listed.map(againTerm)].map((term) => ({ term, after: 0 }));
    const lists = await engine.matching(asked, documents);
    for (const [index, term] of listed.entries()) {
      const all = Uint32Array.from(lists[index] ?? []);
      found.set(term, { df: all.length, all, again: Uint32Array.from(lists[listed.length + index] ?? []) });
    }
    return found;
  };
}
