import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { TokenStream } from '../index/token-stream.js';
import type { ScoredTerm } from './candidate.js';
import type { Boosts } from './filter-sources.js';
import type { IndexSearch, SearchConfig } from './index-search.js';
import { ranking } from './ranking.js';
import { phraseIds } from './read-query.js';
import { columnFrequency, type RepoSnapshot } from './repo-snapshot.js';
import { contribution } from './score-candidates.js';
import { hasPhrase } from './word-order.js';

const maxPhraseChecks = 5_000;

/** What the choice depends on. */
interface CandidateDeps {
  readonly repo: RepoSnapshot;
  readonly terms: readonly ScoredTerm[];
  readonly wanted: IndexSearch;
  readonly config: SearchConfig;
  readonly corpus: { readonly chunks: number; readonly averageLength: number };
  readonly allows: ((source: number) => boolean) | undefined;
  readonly analysis: TextAnalysis;
  readonly streamOf: (row: number) => TokenStream;
  /** By index of the source. */
  readonly boosts: (source: number) => Boosts;
}

/** The chunks with the highest approximate scores, boosts included. Rare terms find them; common terms only add to their scores. */
export function chooseCandidates(deps: CandidateDeps): {
  readonly slots: readonly number[];
  readonly total: number;
  readonly matchesOutside: boolean;
} {
  const { repo, terms, config, corpus, allows, boosts } = deps;
  const scores = new Float64Array(repo.count);
  const touched: number[] = [];
  const isRuledOut = ruledOut(deps);
  const common = ranking.commonShare * corpus.chunks;
  let matchesOutside = false;
  for (const term of [...terms].sort((a, b) => a.df - b.df)) {
    if (term.df > common && touched.length >= config.candidates) break;
    const { slots, columns } = repo.postings(term.id, repo.termFacts(term.id)?.df ?? 0);
    for (let at = 0; at < slots.length; at += 1) {
      const slot = slots[at] ?? 0;
      if (allows?.(repo.sourceOf[slot] ?? 0) === false || isRuledOut?.(slot)) {
        matchesOutside = true;
        continue;
      }
      if (scores[slot] === 0) touched.push(slot);
      const lengthFactor = (repo.lengths[slot] ?? 0) / Math.max(corpus.averageLength, 1);
      scores[slot] = (scores[slot] ?? 0) + contribution(term, columnFrequency(columns[at] ?? 0), lengthFactor);
    }
  }
  const boosted = touched.map((slot) => {
    const { document, recency } = boosts(repo.sourceOf[slot] ?? 0);
    return (scores[slot] ?? 0) * document * recency;
  });
  const wanted = Math.max(config.candidates, deps.wanted.limit);
  if (touched.length <= wanted) return { slots: touched, total: touched.length, matchesOutside };
  const threshold = Float64Array.from(boosted).sort()[touched.length - wanted] ?? 0;
  // Ties at the threshold are cut by position, which is the same in every process.
  const above = touched.filter((_, index) => (boosted[index] ?? 0) > threshold);
  const equal = touched.filter((_, index) => boosted[index] === threshold).sort((a, b) => a - b);
  return { slots: [...above, ...equal.slice(0, wanted - above.length)], total: touched.length, matchesOutside };
}

/** Chunks without a required phrase or with an excluded word; undefined when the query has no operators. */
function ruledOut({ repo, wanted, analysis, streamOf }: CandidateDeps): ((slot: number) => boolean) | undefined {
  const { syntax } = wanted;
  if (syntax === undefined) return undefined;
  const excluded = new Set<number>();
  for (const word of syntax.excluded) {
    for (const { term } of analysis.analyseQuery(word).terms) {
      const known = repo.term(term);
      if (known === undefined) continue;
      for (const slot of repo.postings(known.id, known.df).slots) excluded.add(slot);
    }
  }
  const required = [...syntax.required, ...syntax.heading].map((phrase) => phraseIds(analysis, phrase, repo));
  if (required.length === 0) return (slot) => excluded.has(slot);
  if (required.some((ids) => ids === undefined)) return () => true;
  const checked = new Map<number, boolean>();
  const headingFrom = syntax.required.length;
  return (slot) => {
    if (excluded.has(slot)) return true;
    const known = checked.get(slot);
    if (known !== undefined) return known;
    if (checked.size >= maxPhraseChecks) return true;
    const stream = streamOf(repo.chunkIds[slot] ?? 0);
    const headings = headingField(stream);
    const isOut = !required.every((ids, index) => hasPhrase(index < headingFrom ? stream : headings, ids ?? []));
    checked.set(slot, isOut);
    return isOut;
  };
}

function headingField(stream: TokenStream): TokenStream {
  const start = stream.indexOf(1);
  return stream.subarray(start + 1, stream.indexOf(1, start + 1));
}
