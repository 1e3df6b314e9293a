import { inverseFrequency, type TextAnalysis } from 'mortise/contracts/text-analysis';
import type { ScoredTerm } from './candidate.js';
import { closeTerms } from './close-terms.js';
import { isSegmented, ranking } from './ranking.js';
import type { RepoSnapshot } from './repo-snapshot.js';

/** A term of the query that some repo has. */
interface QueryTerm extends Omit<ScoredTerm, 'id'> {
  /** The text of its word in the query. */
  readonly word: string;
}

export interface ReadQuery {
  readonly terms: readonly QueryTerm[];
  readonly hasWords: boolean;
  /** The word of the query that each term comes from. */
  readonly words: ReadonlyMap<string, string>;
  readonly phrases: readonly string[];
  readonly notes: readonly string[];
  readonly suggestions: readonly string[];
  /** Weight by term, for snippets. */
  readonly weights: readonly (readonly [string, number])[];
}

/** Analyses a query and weighs its terms by their frequency in the repos. Words that occur nowhere are replaced. */
export function readQuery(
  analysis: TextAnalysis,
  text: string,
  repos: readonly RepoSnapshot[],
  chunks: number,
): ReadQuery {
  const { terms, phrases } = analysis.analyseQuery(text);
  const dfOf = (term: string): number => repos.reduce((sum, repo) => sum + (repo.term(term)?.df ?? 0), 0);
  const known: QueryTerm[] = [];
  const unknown = new Map<string, { start: number; end: number }>();
  for (const { term, class: kind, start, end } of terms) {
    const df = dfOf(term);
    const word = text.slice(start, end);
    if (df > 0) {
      const weight = ranking.classWeights[kind];
      known.push({ term, class: kind, start, end, df, idf: inverseFrequency(chunks, df), weight, word });
    } else if (!isSegmented(kind)) unknown.set(analysis.normalise(word), { start, end });
  }
  const suggestions: string[] = [];
  for (const [word, { start, end }] of unknown) {
    // A part of the word, or another form of it, is known.
    if (known.some((term) => term.start < end && start < term.end)) continue;
    const close = new Map(
      repos.flatMap((repo) => closeTerms(word, repo.vocabulary())).map(({ term }) => [term, dfOf(term)]),
    );
    for (const [term, df] of [...close].slice(0, 3)) {
      suggestions.push(term);
      known.push({
        term,
        class: 'stem',
        start,
        end,
        df,
        idf: inverseFrequency(chunks, df),
        weight: ranking.expansionWeight,
        expandedFrom: text.slice(start, end),
        word: text.slice(start, end),
      });
    }
  }
  const used =
    known.length > ranking.maxTerms ? [...known].sort((a, b) => a.df - b.df).slice(0, ranking.maxTerms) : known;
  const notes =
    used.length < known.length ? [`The query has ${known.length} terms; its ${used.length} rarest were used.`] : [];
  return {
    terms: used,
    hasWords: terms.length > 0,
    words: new Map(used.map(({ term, word }) => [term, word])),
    phrases: phrases.map((phrase) => phrase.text),
    notes,
    suggestions: [...new Set(suggestions)],
    weights: used.map(({ term, weight, idf }) => [term, weight * idf] as const),
  };
}

/** The terms of a query that one repo has. */
export function termsOf({ terms }: ReadQuery, repo: RepoSnapshot): readonly ScoredTerm[] {
  return terms.flatMap((term) => {
    const id = repo.term(term.term)?.id;
    return id === undefined ? [] : [{ ...term, id }];
  });
}

/** The ids of a phrase's words in order: the stem or the shortest term at each position. Undefined when one is unknown. */
export function phraseIds(analysis: TextAnalysis, phrase: string, repo: RepoSnapshot): readonly number[] | undefined {
  const byStart = new Map<number, { term: string; isStem: boolean }>();
  for (const { term, class: kind, start } of analysis.analyse(phrase)) {
    if (byStart.get(start)?.isStem !== true) byStart.set(start, { term, isStem: kind === 'stem' });
  }
  const ids = [...byStart.values()].map(({ term }) => repo.term(term)?.id);
  return ids.every((id) => id !== undefined) && ids.length > 0 ? ids : undefined;
}
