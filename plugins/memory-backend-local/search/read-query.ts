import type { QueryPhrase, TextAnalysis } from 'mortise/contracts/text-analysis';
import { engineTerm } from '../index/index-text.js';

/** A term of the query before anything is known of its frequency. */
export interface ReadTerm {
  readonly term: string;
  readonly engineTerm: string;
  /** The place of its word in the query. */
  readonly place: number;
  /** Its range of the query. */
  readonly start: number;
  readonly end: number;
}

export interface ReadQuery {
  readonly terms: readonly ReadTerm[];
  /** Quoted, and required verbatim. */
  readonly phrases: readonly QueryPhrase[];
  /** Engine terms that every memory with the phrases has. */
  readonly required: readonly string[];
}

/** Analyses a query as the memories were. */
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
