import type { Database, LogbookService, MemoryHit, MemorySearch, TextAnalysis } from 'mortise/sdk';
import type { SearchEngine } from '../engine/search-engine.js';
import { termHash } from '../index/postings.js';
import { spaceTerm } from '../index/space-term.js';
import { accept, isFiltered } from './accept.js';
import type { Corpus } from './corpus.js';
import type { ReadDocuments } from './documents.js';
import { furtherPages, likeliest } from './find-candidates.js';
import { planCandidates } from './plan-candidates.js';
import { type ReadQuery, readQuery } from './read-query.js';
import { inverseFrequency } from './score.js';
import { bestFirst, scoreDocuments, scoreLikeliest } from './score-documents.js';

export interface SearchParts {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly analysis: TextAnalysis;
  readonly engine: SearchEngine;
  readonly corpus: Corpus;
  readonly documents: ReadDocuments;
}

/** Terms that are looked up and scored, the rarest of a longer query. */
const MOST_TERMS = 64;

/**
 * A space with this share of the memories is no filter worth its cost: the engine would walk over all of its memories.
 * Memories of other spaces are left out when they are read.
 */
const LARGE_SHARE = 0.5;

/** The terms that count, with their frequencies, and how many memories the spaces have. */
async function weigh(parts: SearchParts, read: ReadQuery, spaceTerms: readonly string[]) {
  const { documents, averageLength } = await parts.corpus.totals();
  const names = [...new Set([...read.terms.map(({ engineTerm }) => engineTerm), ...spaceTerms])];
  const frequencies = await parts.corpus.frequencies(names, documents);
  const terms = read.terms
    .map((term) => {
      const df = frequencies.get(term.engineTerm) ?? 0;
      return { ...term, df, idf: inverseFrequency(documents, df), hash: termHash(term.term) };
    })
    .sort((a, b) => Number(a.df === 0) - Number(b.df === 0) || a.df - b.df)
    .slice(0, MOST_TERMS);
  const words = new Set(terms.map(({ place }) => place)).size;
  const inSpaces = spaceTerms.reduce((sum, term) => sum + (frequencies.get(term) ?? 0), 0);
  return { documents, inSpaces, terms, query: { terms, words, averageLength } };
}

/**
 * The memories of the spaces that have terms of the query, best first. One matching term outside quotes is enough;
 * quoted phrases are required.
 */
export async function searchMemories(parts: SearchParts, search: MemorySearch): Promise<readonly MemoryHit[]> {
  const { limit, filters } = search;
  const read = readQuery(parts.analysis, search.query);
  if (read.terms.length === 0 || search.spaces.length === 0 || limit < 1) return [];
  const spaceTerms = search.spaces.map(spaceTerm);
  const { documents, inSpaces, terms, query } = await weigh(parts, read, spaceTerms);
  const planned = terms.map(({ engineTerm: term, start, end, df, idf }) => ({ term, start, end, df, idf }));
  const filter = inSpaces >= documents * LARGE_SHARE ? [] : spaceTerms;
  const plan = planCandidates(planned, read.required, filter, documents);
  const conditions = { filters, phrases: read.phrases, minScore: filters.minScore ?? 0 };
  const isExplained = filters.explain === true;
  const score = async (seqs: readonly number[]) => scoreDocuments(await parts.documents(seqs), spaceTerms, query);

  const candidates = await likeliest(parts.engine, plan);
  const enough = isFiltered(conditions) ? Number.POSITIVE_INFINITY : limit;
  const first = await scoreLikeliest(candidates, enough, score);
  const hits = [...(await accept(parts, first.scored, conditions, limit, isExplained))];
  if (hits.length >= limit) return hits;
  for await (const seqs of furtherPages(parts.engine, plan, candidates, first.read)) {
    const scored = [...(await score(seqs))].sort(bestFirst);
    hits.push(...(await accept(parts, scored, conditions, limit - hits.length, isExplained)));
    if (hits.length >= limit) break;
  }
  return hits.sort((a, b) => b.score - a.score);
}
