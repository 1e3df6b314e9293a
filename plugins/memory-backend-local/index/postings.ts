import type { TextAnalysis } from 'mortise/sdk';

/** What the index keeps of a text beside the search engine's own rows. */
export interface IndexedText {
  /** Number of terms, those of headings counted twice. */
  readonly length: number;
  /** `\n<term> <place>,<place>…` for each distinct term, with a final `\n`. A place in a heading stands twice. */
  readonly postings: string;
  /** The distinct terms, as {@link engineTerm} writes them. */
  readonly terms: readonly string[];
}

/**
 * A term as the search engines see it: their tokenisers must neither cut nor change it. Signs become `_`; two terms
 * that become one this way only make each other's memories candidates, and the score tells them apart.
 */
export function engineTerm(term: string): string {
  return term.replaceAll(/[^a-z0-9\u0080-\u{10ffff}]/gu, '_');
}

/** Analyses a text: every term with its places, a place being the number of its word or character in the text. */
export function indexText(analysis: TextAnalysis, text: string): IndexedText {
  const headings = analysis.headingRanges(text);
  const places = new Map<string, string>();
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
    const isHeading = (headings[heading]?.start ?? Number.POSITIVE_INFINITY) <= start;
    const known = places.get(token.term);
    const here = isHeading ? `${place},${place}` : String(place);
    places.set(token.term, known === undefined ? here : `${known},${here}`);
    length += isHeading ? 2 : 1;
  }
  let postings = '\n';
  for (const [term, where] of places) postings += `${term} ${where}\n`;
  return { length, postings, terms: [...new Set([...places.keys()].map(engineTerm))] };
}

/** The places of a term as they are kept, `<place>,<place>…` in rising order; undefined where the text lacks it. */
export function placesText(postings: string, term: string): string | undefined {
  const at = postings.indexOf(`\n${term} `);
  if (at < 0) return undefined;
  const from = at + term.length + 2;
  return postings.slice(from, postings.indexOf('\n', from));
}
