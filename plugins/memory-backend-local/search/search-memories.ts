import type { LedgerFilters, LedgerMemory, LogbookService } from 'mortise/contracts/logbook';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { Database, MemoryHit, MemorySearch } from 'mortise/sdk';
import { spaceTerm } from '../store/index-text.js';
import { furtherPages, likeliest } from './candidates.js';
import { addContext, scaled } from './conversation-context.js';
import type { ReadCorpus } from './corpus.js';
import type { ReadDocuments } from './documents.js';
import { planCandidates } from './plan-candidates.js';
import { type ReadQuery, readQuery, weighTerms } from './query-terms.js';
import type { RankMatches } from './rank-matches.js';
import { bestFirst, type Scored, scoreDocuments, scoreLikeliest } from './score-documents.js';
import type { TermIndex } from './term-index.js';

/** Dependencies of a search. */
export interface SearchDeps extends Pick<TermIndex, 'engine' | 'count' | 'lookUp'> {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly analysis: TextAnalysis;
  readonly corpus: ReadCorpus;
  readonly documents: ReadDocuments;
  readonly rank: RankMatches;
}

/**
 * Spaces with at least this share of the memories are not filtered by the engine, which would scan all their memories.
 * Memories of other spaces are dropped when they are read.
 */
const largeShare = 0.5;

/**
 * Returns the memories of the spaces that match a query, best first. One matching term outside quotes is enough; quoted
 * phrases are required.
 */
export async function searchMemories(deps: SearchDeps, search: MemorySearch): Promise<readonly MemoryHit[]> {
  const { limit, filters } = search;
  const read = readQuery(deps.analysis, search.query);
  if (read.terms.length === 0 || search.spaces.length === 0 || limit < 1) return [];
  const spaceTerms = search.spaces.map(spaceTerm);
  const corpus = await deps.corpus();
  const spaces = corpus.spaces(spaceTerms);
  const weighed = await weighTerms(deps, read, corpus);
  const filter = spaces.documents >= corpus.documents * largeShare ? [] : spaceTerms;
  const plan = planCandidates(weighed.terms, read.required, filter, corpus.documents);
  const conditions = { filters, phrases: read.phrases, minScore: filters.minScore ?? 0 };
  const isExplained = filters.explain === true;
  const query = { ...weighed, averageLength: corpus.averageLength };
  const score = async (seqs: readonly number[]) => scoreDocuments(await deps.documents(seqs), spaceTerms, query);
  const best = async (enough: number) => {
    const { ranked, beyond } = await likeliest(deps, plan, weighed, { spaces: spaces.numbers, enough }, corpus);
    const { scored, read: looked } = await scoreLikeliest(ranked, enough, beyond, score);
    const { scored: inContext, scale } =
      filters.context === false ? { scored, scale: 1 } : await addContext(deps, scored, spaceTerms, query);
    const seen = new Set(inContext.map(({ seq }) => seq));
    return { ranked, looked, scale, seen, hits: await accept(deps, inContext, conditions, limit, isExplained) };
  };

  let found = await best(isFiltered(conditions) ? Number.POSITIVE_INFINITY : limit);
  // When some of the best are no longer in the ledger, all other candidates are considered.
  if (found.hits.length < limit && !found.ranked.isComplete) found = await best(Number.POSITIVE_INFINITY);
  const hits = [...found.hits];
  if (hits.length >= limit) return hits;
  for await (const seqs of furtherPages(deps.engine, plan.then, found.ranked.seqs, found.looked)) {
    const scored = (await score(seqs.filter((seq) => !found.seen.has(seq))))
      .map((one) => scaled(one, found.scale))
      .sort(bestFirst);
    hits.push(...(await accept(deps, scored, conditions, limit - hits.length, isExplained)));
    if (hits.length >= limit) break;
  }
  return hits.sort((a, b) => b.score - a.score);
}

/** Minimum number of memories read at once when some may be filtered out. */
const minFilteredPage = 40;

/** Conditions on a memory, apart from its terms. */
interface Conditions {
  readonly filters: LedgerFilters;
  readonly phrases: ReadQuery['phrases'];
  readonly minScore: number;
}

/** Whether some of the best candidates may not be hits. */
function isFiltered({ filters, phrases }: Conditions): boolean {
  const { kind, createdAfter, createdBefore, evidence, meta, actorUserId } = filters;
  const wanted = [kind, createdAfter, createdBefore, evidence, meta, actorUserId];
  return phrases.length > 0 || wanted.some((value) => value !== undefined);
}

function toHit(memory: LedgerMemory, scored: Scored, isExplained: boolean): MemoryHit {
  return {
    id: scored.memoryId,
    content: memory.payload ?? '',
    score: scored.score,
    space: memory.space,
    metadata: memory.meta,
    memory,
    ...(isExplained ? { explain: scored.parts } : {}),
  };
}

/** The best candidates that meet the conditions, at most `limit`; only as many texts are read as needed. */
async function accept(
  { logbook, analysis }: SearchDeps,
  scored: readonly Scored[],
  conditions: Conditions,
  limit: number,
  isExplained: boolean,
): Promise<readonly MemoryHit[]> {
  const { filters, phrases, minScore } = conditions;
  const hits: MemoryHit[] = [];
  const good = scored.filter(({ score }) => score > 0 && score >= minScore);
  const step = isFiltered(conditions) ? Math.max(limit, minFilteredPage) : limit;
  for (let at = 0; at < good.length && hits.length < limit; at += step) {
    const slice = good.slice(at, at + step);
    const rows = await logbook.ledger.byBackendIds(
      'local',
      slice.map(({ memoryId }) => memoryId),
    );
    const memories = new Map(rows.map((row) => [row.backendMemoryId, row]));
    for (const one of slice) {
      const memory = memories.get(one.memoryId);
      if (memory === undefined || memory.payload === null || !logbook.ledger.matches(memory, filters)) continue;
      const text = phrases.length === 0 ? '' : analysis.normalise(memory.payload);
      if (phrases.every((phrase) => analysis.containsPhrase(text, phrase))) hits.push(toHit(memory, one, isExplained));
    }
  }
  return hits.slice(0, limit);
}
