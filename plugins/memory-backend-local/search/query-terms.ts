import { inverseFrequency, type QueryPhrase, type TextAnalysis } from 'mortise/contracts/text-analysis';
import { engineTerm } from '../store/index-text.js';
import { termHash } from '../store/postings.js';
import type { Corpus } from './corpus.js';
import type { QueryTerm } from './score.js';
import type { TermIndex } from './term-index.js';
import type { CountTerms, Matches, TermMatches } from './term-lists.js';

/** A term of the query, before its frequency is known. */
interface ReadTerm {
  readonly term: string;
  readonly engineTerm: string;
  /** Position of its word in the query. */
  readonly place: number;
  /** Its range of the query. */
  readonly start: number;
  readonly end: number;
}

export interface ReadQuery {
  readonly terms: readonly ReadTerm[];
  /** Quoted phrases, which must occur verbatim. */
  readonly phrases: readonly QueryPhrase[];
  /** Engine terms of the phrases, which every hit has. */
  readonly required: readonly string[];
}

/** Analyses a query in the same way as memories. */
export function readQuery(analysis: TextAnalysis, query: string): ReadQuery {
  const { terms, phrases } = analysis.analyseQuery(query);
  const places = new Map<number, number>();
  const read = terms.map(({ term, start, end }) => {
    const place = places.get(start) ?? places.size;
    places.set(start, place);
    return { term, engineTerm: engineTerm(term), place, start, end };
  });
  const required = new Set(phrases.flatMap((phrase) => phrase.terms.map(engineTerm)));
  return { terms: read, phrases, required: [...required] };
}

/** A term of the query with its weight and its memories. */
export interface WeighedTerm extends ReadTerm, QueryTerm, TermMatches {
  readonly isListed: boolean;
}

export interface WeighedQuery {
  /** Rarest first. */
  readonly terms: readonly WeighedTerm[];
  /** Number of different words. */
  readonly words: number;
  /** The listed memories of each term of quoted phrases. */
  readonly required: readonly Matches[];
}

/** Terms that are looked up and scored: the rarest of a longer query. */
const maxTerms = 64;

/** Terms without a memory come last. */
function rarestFirst(a: { readonly df: number }, b: { readonly df: number }): number {
  return Number(a.df === 0) - Number(b.df === 0) || a.df - b.df;
}

/** The rarest terms of a long query: counting is cheaper than looking up. */
async function rarest(count: CountTerms, terms: readonly ReadTerm[], documents: number): Promise<readonly ReadTerm[]> {
  if (terms.length <= maxTerms) return terms;
  const counts = await count([...new Set(terms.map(({ engineTerm }) => engineTerm))], documents);
  const counted = terms.map((term) => ({ term, df: counts.get(term.engineTerm) ?? 0 }));
  return counted
    .sort(rarestFirst)
    .slice(0, maxTerms)
    .map(({ term }) => term);
}

/** Looks up the terms of a query and weighs them by their frequency. */
export async function weighTerms(
  { count, lookUp }: Pick<TermIndex, 'count' | 'lookUp'>,
  read: ReadQuery,
  corpus: Corpus,
): Promise<WeighedQuery> {
  const wanted = await rarest(count, read.terms, corpus.documents);
  const matches = await lookUp([...new Set(wanted.map(({ engineTerm }) => engineTerm))], corpus);
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
