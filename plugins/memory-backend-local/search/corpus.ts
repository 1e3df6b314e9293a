import type { Database } from 'mortise/sdk';
import type { SearchEngine } from '../engine/search-engine.js';

/** What scores need to know of all memories together. */
export interface Corpus {
  /** Brings the totals up to date. */
  totals(): Promise<Totals>;
  /** Number of memories with each term, 0 for a term that none has. */
  frequencies(terms: readonly string[], documents: number): Promise<ReadonlyMap<string, number>>;
}

export interface Totals {
  readonly documents: number;
  /** In terms; 1 for an empty index. */
  readonly averageLength: number;
}

/** Counting a common term costs milliseconds: a count is kept while the index has grown by less than this share. */
const TOLERATED_GROWTH = 0.01;
const MOST_KEPT = 20_000;

/**
 * On PostgreSQL a row may commit after one with a higher number, and be missed by counting on from there: everything is
 * counted anew this often. SQLite has one writer at a time.
 */
const RECOUNT_MS = { sqlite: Number.POSITIVE_INFINITY, postgres: 300_000 };

export function createCorpus(database: Database, engine: SearchEngine, now: () => number = Date.now): Corpus {
  const counts = new Map<string, { readonly df: number; readonly documents: number }>();
  let last = 0;
  let documents = 0;
  let terms = 0;
  let recountAt = 0;

  return {
    async totals() {
      if (now() >= recountAt) {
        last = 0;
        documents = 0;
        terms = 0;
        recountAt = now() + RECOUNT_MS[database.dialect];
      }
      const { rows } = await database.statement<{ last: number | null; documents: number; terms: number | null }>(
        `select max(seq) as last, count(*) as documents, sum(length) as terms
         from {logbook.memory_documents} where seq > ?`,
        [last],
      );
      const grown = rows[0];
      if (grown !== undefined && grown.last !== null) {
        last = grown.last;
        documents += grown.documents;
        terms += grown.terms ?? 0;
      }
      return { documents, averageLength: documents === 0 ? 1 : terms / documents };
    },
    async frequencies(wanted, total) {
      const isFresh = (term: string): boolean => {
        const kept = counts.get(term);
        return kept !== undefined && total - kept.documents <= total * TOLERATED_GROWTH;
      };
      const stale = wanted.filter((term) => !isFresh(term));
      if (stale.length > 0) {
        const found = await engine.frequencies(stale);
        if (counts.size > MOST_KEPT) counts.clear();
        for (const term of stale) counts.set(term, { df: found.get(term) ?? 0, documents: total });
      }
      return new Map(wanted.map((term) => [term, counts.get(term)?.df ?? 0]));
    },
  };
}
