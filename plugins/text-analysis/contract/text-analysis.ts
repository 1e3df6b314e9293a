/**
 * What a term is, so that a reader of tokens can weigh it or leave it out:
 *
 * - `stem`: a word outside the segmented scripts, Porter-stemmed where that applies (English); every such word has one.
 * - `raw`: the same word unstemmed, only where it differs from its stem.
 * - `identifier`: a whole name made of parts (`file_hash`, `fileHash`, `node.js`, `v1.2`, `docs/a.md`, `C++`); its parts
 *   follow as `stem` and `raw`.
 * - `word`: a dictionary word of a script written without spaces (Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar).
 * - `bigram`: two neighbouring characters of such a script that are not themselves a `word`.
 * - `char`: one character of such a script that is not itself a `word`.
 */
export type TermClass = 'stem' | 'raw' | 'identifier' | 'word' | 'bigram' | 'char';

/** A half-open range of UTF-16 offsets into the text as it was given. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/**
 * One term at one place. Two tokens with the same `term` are the same term, whatever their classes.
 * `start` and `end` are UTF-16 offsets into the text as it was given, before any folding.
 */
export interface AnalysedToken extends TextRange {
  readonly term: string;
  readonly class: TermClass;
}

/** A `"quoted phrase"` of a query. */
export interface QueryPhrase {
  /** The phrase as `normalise` gives it; never empty. */
  readonly text: string;
  /**
   * In order, terms that every text which contains the phrase is sure to have: enough to find candidates by. A phrase
   * of signs alone has none.
   */
  readonly terms: readonly string[];
}

/** A query, ready to be matched. Nothing in a query is an error, and only straight double quotes mean anything. */
export interface AnalysedQuery {
  /**
   * The terms to join by OR, quoted words included, each once, in order of first appearance. Stop words are left out
   * unless nothing else is left. Empty only where the query has no letter or digit. Offsets point into the query.
   */
  readonly terms: readonly AnalysedToken[];
  readonly phrases: readonly QueryPhrase[];
}

/**
 * The analyser that turns text and queries into terms. Every member is a pure function that accepts any string
 * (lone surrogates and NUL included), never throws and takes time linear in the length of the text.
 */
export interface TextAnalysis {
  /**
   * Names this analysis, the version of the Unicode library under it included. An index keeps it beside its terms and
   * is rebuilt when it differs.
   */
  readonly version: string;
  /** The tokens of `text`, ordered by `start`; tokens that begin together come from the widest part to the narrowest. */
  analyse(text: string): readonly AnalysedToken[];
  /** Terms and phrases of a query, analysed as `analyse` does. */
  analyseQuery(query: string): AnalysedQuery;
  /** Whether an English or Chinese (simplified or traditional) function or question word; expects a term of `analyse`. */
  isStopWord(term: string): boolean;
  /**
   * The text as phrases are compared: NFKC, lower case, Latin diacritics folded, white space collapsed to single
   * spaces and trimmed.
   */
  normalise(text: string): string;
  /**
   * Whether a normalised text contains a phrase verbatim. A phrase that begins or ends with a word matches whole words
   * there: `art` is not in `party`. In scripts without spaces any place counts.
   */
  containsPhrase(normalisedText: string, phrase: QueryPhrase): boolean;
  /**
   * The Markdown heading lines of `text` in order, without their line ends: `#` to `######` lines and setext headings
   * with their underline, outside fenced code. A token lies in a heading when its `start` lies in one of these ranges.
   */
  headingRanges(text: string): readonly TextRange[];
}
