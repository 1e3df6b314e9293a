import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import { type Postings, writePostings } from './postings.js';

/** What the index keeps of a text. */
export interface IndexedText {
  /** Number of terms, those of headings counted twice. */
  readonly length: number;
  readonly postings: Postings;
  /** The distinct terms, as {@link engineTerm} writes them, and {@link againTerm} of those that come more than once. */
  readonly terms: readonly string[];
}

/** Which terms the index keeps of a text: a memory with another version is indexed anew. */
export function indexVersion(analysis: TextAnalysis): string {
  return `${analysis.version}+again`;
}

const SIGN = /[^a-z0-9\u0080-\u{10ffff}]/gu;
const HAS_SIGN = /[^a-z0-9\u0080-\uffff]/;

/**
 * A term as the search engines see it: their tokenisers must neither cut nor change it. Signs become `_`; two terms
 * that become one this way only make each other's memories candidates, and the score tells them apart.
 */
export function engineTerm(term: string): string {
  return HAS_SIGN.test(term) ? term.replaceAll(SIGN, '_') : term;
}

/**
 * The term that stands for another one that comes more than once, so that the engine can tell how often a memory has it.
 * No analysed term has its form.
 */
export function againTerm(engineTerm: string): string {
  return `_2_${engineTerm}`;
}

/** Analyses a text: every term with its places, a place being the number of its word or character in the text. */
export function indexText(analysis: TextAnalysis, text: string): IndexedText {
  const headings = analysis.headingRanges(text);
  const places = new Map<string, number[]>();
  const plain: string[] = [];
  const signed = new Set<string>();
  let heading = 0;
  let place = -1;
  let start = -1;
  let length = 0;
  for (const token of analysis.analyse(text)) {
    if (token.start !== start) {
      start = token.start;
      place += 1;
      while ((headings[heading]?.end ?? Number.POSITIVE_INFINITY) <= start) heading += 1;
    }
    let known = places.get(token.term);
    if (known === undefined) {
      known = [];
      places.set(token.term, known);
      if (HAS_SIGN.test(token.term)) signed.add(engineTerm(token.term));
      else plain.push(token.term);
    }
    const isHeading = (headings[heading]?.start ?? Number.POSITIVE_INFINITY) <= start;
    known.push(place);
    if (isHeading) known.push(place);
    length += isHeading ? 2 : 1;
  }
  const again: string[] = [];
  for (const [term, list] of places) if (list.length > 1) again.push(againTerm(engineTerm(term)));
  return { length, postings: writePostings(places), terms: [...plain, ...signed, ...again] };
}
