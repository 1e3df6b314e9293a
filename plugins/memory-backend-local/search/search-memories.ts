import type { LogbookService } from 'mortise/contracts/logbook';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { Database, MemoryHit, MemorySearch } from 'mortise/sdk';
import { spaceTerm } from '../index/space-term.js';
import { accept, isFiltered } from './accept.js';
import type { ReadCorpus } from './corpus.js';
import type { ReadDocuments } from './documents.js';
import { furtherPages } from './find-candidates.js';
import { type LikeliestParts, likeliest } from './likeliest.js';
import { planCandidates } from './plan-candidates.js';
import { readQuery } from './read-query.js';
import { bestFirst, scoreDocuments, scoreLikeliest } from './score-documents.js';
import { type WeighParts, weighTerms } from './weigh-terms.js';

export interface SearchParts extends WeighParts, LikeliestParts {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly analysis: TextAnalysis;
  readonly corpus: ReadCorpus;
  readonly documents: ReadDocuments;
}

/**
 * A space with this share of the memories is no filter worth its cost: the engine would walk over all of its memories.
 * Memories of other spaces are left out when they are read.
 */
const LARGE_SHARE = 0.5;

/**
 * The memories of the spaces that have terms of the query, best first. One matching term outside quotes is enough;
 * quoted phrases are required.
 */
export async function searchMemories(parts: SearchParts, search: MemorySearch): Promise<readonly MemoryHit[]> {
  const { limit, filters } = search;
  const read = readQuery(parts.analysis, search.query);
  if (read.terms.length === 0 || search.spaces.length === 0 || limit < 1) return [];
  const spaceTerms = search.spaces.map(spaceTerm);
  const corpus = await parts.corpus();
  const spaces = corpus.spaces(spaceTerms);
  const weighed = await weighTerms(parts, read, corpus);
  const filter = spaces.documents >= corpus.documents * LARGE_SHARE ? [] : spaceTerms;
  const plan = planCandidates(weighed.terms, read.required, filter, corpus.documents);
  const conditions = { filters, phrases: read.phrases, minScore: filters.minScore ?? 0 };
  const isExplained = filters.explain === true;
  const query = { ...weighed, averageLength: corpus.averageLength };
  const score = async (seqs: readonly number[]) => scoreDocuments(await parts.documents(seqs), spaceTerms, query);
  const best = async (enough: number) => {
    const { ranked, beyond } = await likeliest(parts, plan, weighed, { spaces: spaces.numbers, enough }, corpus);
    const { scored, read: looked } = await scoreLikeliest(ranked, enough, beyond, score);
    return { ranked, looked, hits: await accept(parts, scored, conditions, limit, isExplained) };
  };

  let found = await best(isFiltered(conditions) ? Number.POSITIVE_INFINITY : limit);
  // Where some of the best are no longer in the ledger, every other candidate counts.
  if (found.hits.length < limit && !found.ranked.isComplete) found = await best(Number.POSITIVE_INFINITY);
  const hits = [...found.hits];
  if (hits.length >= limit) return hits;
  for await (const seqs of furtherPages(parts.engine, plan.then, found.ranked.seqs, found.looked)) {
    const scored = [...(await score(seqs))].sort(bestFirst);
    hits.push(...(await accept(parts, scored, conditions, limit - hits.length, isExplained)));
    if (hits.length >= limit) break;
  }
  return hits.sort((a, b) => b.score - a.score);
}
