/**
 * The kind of a term, by which it can be weighed or skipped:
 *
 * - `stem`: a word outside the segmented scripts, Porter-stemmed if English; every such word has one.
 * - `raw`: the unstemmed word, if it differs from its stem.
 * - `identifier`: a whole name made of parts (`file_hash`, `fileHash`, `node.js`, `v1.2`, `docs/a.md`, `C++`); its parts
 *   follow as `stem` and `raw`.
 * - `word`: a dictionary word of a script written without spaces (Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar).
 * - `bigram`: two neighbouring characters of such a script that are not themselves a `word`.
 * - `char`: one character of such a script that is not itself a `word`.
 */
export type TermClass = 'stem' | 'raw' | 'identifier' | 'word' | 'bigram' | 'char';

/** A half-open range of UTF-16 offsets into the original text. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/**
 * One occurrence of a term. Tokens with the same `term` are the same term, whatever their classes.
 * `start` and `end` are UTF-16 offsets into the original text, before folding.
 */
export interface AnalysedToken extends TextRange {
  readonly term: string;
  readonly class: TermClass;
}

/** A `"quoted phrase"` of a query. */
export interface QueryPhrase {
  /** The phrase in the form of `normalise`; never empty. */
  readonly text: string;
  /**
   * Terms, in order, that every text with the phrase has, to find candidates. A phrase of signs only has none.
   */
  readonly terms: readonly string[];
}

/** An analysed query. No query is invalid, and only straight double quotes have a meaning. */
export interface AnalysedQuery {
  /**
   * The distinct terms to join by OR, including quoted words, in order of first occurrence. Without stop words unless
   * there are no others. Empty only for a query without letters and digits. Offsets refer to the query.
   */
  readonly terms: readonly AnalysedToken[];
  readonly phrases: readonly QueryPhrase[];
}

/**
 * The analyser that turns text and queries into terms. Every function is pure, accepts any string (also with lone
 * surrogates and NUL), never throws and takes time linear in the length of the text.
 */
export interface TextAnalysis {
  /**
   * Version of this analysis, including that of the Unicode library. An index stores it with its terms and is rebuilt
   * when it differs.
   */
  readonly version: string;
  /**
   * URL of the module that exports this service as `textAnalysis`, for worker threads, which cannot receive functions:
   * `const { textAnalysis } = await import(module)`.
   */
  readonly module: string;
  /** The tokens of `text`, ordered by `start`; tokens with the same start are ordered from the longest to the shortest. */
  analyse(text: string): readonly AnalysedToken[];
  /** Terms and phrases of a query, analysed as `analyse` does. */
  analyseQuery(query: string): AnalysedQuery;
  /** Whether a term of `analyse` is an English or Chinese (simplified or traditional) function or question word. */
  isStopWord(term: string): boolean;
  /**
   * The form in which phrases are compared: NFKC, lower case, Latin diacritics folded, white space collapsed to single
   * spaces and trimmed.
   */
  normalise(text: string): string;
  /**
   * Whether a normalised text contains a phrase verbatim, with whole words at its ends: `art` is not in `party`. In
   * scripts without spaces it matches anywhere.
   */
  containsPhrase(normalisedText: string, phrase: QueryPhrase): boolean;
  /**
   * The Markdown heading lines of `text` in order, without their line ends: `#` to `######` lines and setext headings
   * with their underline, outside fenced code. A token belongs to a heading when its `start` is in one of these ranges.
   */
  headingRanges(text: string): readonly TextRange[];
}
