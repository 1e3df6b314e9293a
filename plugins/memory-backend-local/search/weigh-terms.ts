import { termHash } from '../index/postings.js';
import type { Corpus } from './corpus.js';
import type { ReadQuery, ReadTerm } from './read-query.js';
import { inverseFrequency, type QueryTerm } from './score.js';
import type { CountTerms } from './term-counts.js';
import type { LookUpTerms, Matches, TermMatches } from './term-matches.js';

/** A term of the query and what the index knows of it. */
export interface WeighedTerm extends ReadTerm, QueryTerm, TermMatches {
  readonly isListed: boolean;
}

export interface WeighedQuery {
  /** The rarest first. */
  readonly terms: readonly WeighedTerm[];
  /** Number of different words. */
  readonly words: number;
  /** The memories with each term of quoted phrases, as far as they are listed. */
  readonly required: readonly Matches[];
}

export interface WeighParts {
  readonly count: CountTerms;
  readonly lookUp: LookUpTerms;
}

/** Terms that are looked up and scored, the rarest of a longer query. */
const MOST_TERMS = 64;

/** Those that no memory has come last. */
function rarestFirst(a: { readonly df: number }, b: { readonly df: number }): number {
  return Number(a.df === 0) - Number(b.df === 0) || a.df - b.df;
}

/** Of a long query the rarest terms: counting is cheaper than looking up. */
async function rarest(count: CountTerms, terms: readonly ReadTerm[], documents: number): Promise<readonly ReadTerm[]> {
  if (terms.length <= MOST_TERMS) return terms;
  const counts = await count([...new Set(terms.map(({ engineTerm }) => engineTerm))], documents);
  const counted = terms.map((term) => ({ term, df: counts.get(term.engineTerm) ?? 0 }));
  return counted
    .sort(rarestFirst)
    .slice(0, MOST_TERMS)
    .map(({ term }) => term);
}

/** Finds out how much the terms of a query say, and where they are. */
export async function weighTerms(parts: WeighParts, read: ReadQuery, corpus: Corpus): Promise<WeighedQuery> {
  const wanted = await rarest(parts.count, read.terms, corpus.documents);
  const matches = await parts.lookUp([...new Set(wanted.map(({ engineTerm }) => engineTerm))], corpus);
  const terms = wanted
    .map((term): WeighedTerm => {
      const found = matches.get(term.engineTerm) ?? { df: 0 };
      const idf = inverseFrequency(corpus.documents, found.df);
      return { ...term, ...found, idf, hash: termHash(term.term), isListed: found.all !== undefined };
    })
    .sort(rarestFirst);
  return {
    terms,
    words: new Set(terms.map(({ place }) => place)).size,
    required: read.required.map((term) => matches.get(term)?.all).filter((all) => all !== undefined),
  };
}
