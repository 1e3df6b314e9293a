import { hash } from 'node:crypto';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import { type Postings, writePostings } from './postings.js';

/** The indexed form of a text. */
interface IndexedText {
  /** Number of terms, those of headings counted twice. */
  readonly length: number;
  readonly postings: Postings;
  /** The distinct terms in the form of {@link engineTerm}, with {@link againTerm} of those that occur more than once. */
  readonly terms: readonly string[];
}

/** Version of the indexed form. A memory with another version is indexed again. */
export function indexVersion(analysis: TextAnalysis): string {
  return `${analysis.version}+again+conversation`;
}

const sign = /[^a-z0-9\u0080-\u{10ffff}]/gu;
const hasSign = /[^a-z0-9\u0080-\uffff]/;

/**
 * The form of a term in the search engines, which their tokenisers neither split nor change. Signs become `_`; terms that
 * become equal share candidates, and the score distinguishes them.
 */
export function engineTerm(term: string): string {
  return hasSign.test(term) ? term.replaceAll(sign, '_') : term;
}

/**
 * The additional term of a memory in which a term occurs more than once, so that the engine can find those memories. No
 * analysed term has this form.
 */
export function againTerm(engineTerm: string): string {
  return `_2_${engineTerm}`;
}

/** Analyses a text: every term with its positions, counted in words or characters. */
export function indexText(analysis: TextAnalysis, text: string): IndexedText {
  const headings = analysis.headingRanges(text);
  const positions = new Map<string, number[]>();
  const plain: string[] = [];
  const signed = new Set<string>();
  let heading = 0;
  let position = -1;
  let start = -1;
  let length = 0;
  for (const token of analysis.analyse(text)) {
    if (token.start !== start) {
      start = token.start;
      position += 1;
      while ((headings[heading]?.end ?? Number.POSITIVE_INFINITY) <= start) heading += 1;
    }
    let known = positions.get(token.term);
    if (known === undefined) {
      known = [];
      positions.set(token.term, known);
      if (hasSign.test(token.term)) signed.add(engineTerm(token.term));
      else plain.push(token.term);
    }
    const isHeading = (headings[heading]?.start ?? Number.POSITIVE_INFINITY) <= start;
    known.push(position);
    if (isHeading) known.push(position);
    length += isHeading ? 2 : 1;
  }
  const again: string[] = [];
  for (const [term, list] of positions) if (list.length > 1) again.push(againTerm(engineTerm(term)));
  return { length, postings: writePostings(positions), terms: [...plain, ...signed, ...again] };
}

/**
 * The term of a space, by which the search engines filter. No analysed term has this form: terms begin with a letter or
 * digit.
 */
export function spaceTerm(space: string): string {
  return `_s_${hash('sha256', space, 'hex').slice(0, 20)}`;
}
