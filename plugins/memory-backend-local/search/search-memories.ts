import type {
  Database,
  LedgerFilters,
  LedgerMemory,
  LogbookService,
  MemoryHit,
  MemorySearch,
  TextAnalysis,
} from 'mortise/sdk';
import { jsonTexts } from 'mortise/sdk';
import type { SearchEngine } from '../engine/search-engine.js';
import { termHash } from '../index/postings.js';
import { spaceTerm } from '../index/space-term.js';
import type { Corpus } from './corpus.js';
import { findCandidates } from './find-candidates.js';
import { planCandidates } from './plan-candidates.js';
import { type ReadQuery, readQuery } from './read-query.js';
import { inverseFrequency, type QueryTerm, type ScoredQuery, type ScoreParts, scoreText, totalScore } from './score.js';

export interface SearchParts {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly analysis: TextAnalysis;
  readonly engine: SearchEngine;
  readonly corpus: Corpus;
}

interface DocumentColumns {
  readonly seq: number;
  readonly memory_id: string;
  readonly length: number;
  readonly postings: Uint8Array;
}

interface Scored {
  readonly seq: number;
  readonly memoryId: string;
  readonly parts: ScoreParts;
  readonly score: number;
}

/** Terms that are looked up and scored, the rarest of a longer query. */
const MOST_TERMS = 64;

/** Documents read at once: bounds memory where texts are long. */
const SLICE = 200;

/**
 * A space with this share of the memories is no filter worth its cost: the engine would walk over all of its memories.
 * Memories of other spaces are left out when they are read.
 */
const LARGE_SHARE = 0.5;

/** Memories that are read at the least when some of them may be filtered out. */
const FEWEST_FILTERED = 40;

async function scoreDocuments(
  database: Database,
  seqs: readonly number[],
  spaceTerms: readonly string[],
  query: ScoredQuery,
): Promise<readonly Scored[]> {
  const scored: Scored[] = [];
  for (let at = 0; at < seqs.length; at += SLICE) {
    const { rows } = await database.statement<DocumentColumns>(
      `select seq, memory_id, length, postings from {logbook.memory_documents}
       where seq in (select cast(value as bigint) from ${jsonTexts(database.dialect)} wanted)
       and space in ${jsonTexts(database.dialect)}`,
      [JSON.stringify(seqs.slice(at, at + SLICE)), JSON.stringify(spaceTerms)],
    );
    for (const row of rows) {
      const parts = scoreText(query, row);
      scored.push({ seq: row.seq, memoryId: row.memory_id, parts, score: totalScore(parts) });
    }
  }
  return scored.sort((a, b) => b.score - a.score || b.seq - a.seq);
}

/** What must hold of a memory beside its score. */
interface Conditions {
  readonly filters: LedgerFilters;
  readonly phrases: ReadQuery['phrases'];
  readonly minScore: number;
}

function toHit(memory: LedgerMemory, scored: Scored, isExplained: boolean): MemoryHit {
  return {
    id: scored.memoryId,
    content: memory.payload ?? '',
    score: scored.score,
    space: memory.space,
    metadata: memory.meta,
    ...(isExplained ? { explain: scored.parts } : {}),
  };
}

/** The best of the scored that meet the conditions, at most `limit`; texts are read only as far as needed. */
async function accept(
  parts: SearchParts,
  scored: readonly Scored[],
  { filters, phrases, minScore }: Conditions,
  limit: number,
  isExplained: boolean,
): Promise<readonly MemoryHit[]> {
  const { logbook, analysis } = parts;
  const hits: MemoryHit[] = [];
  const good = scored.filter(({ score }) => score > 0 && score >= minScore);
  const isFiltered = phrases.length > 0 || Object.values(filters).some((value) => value !== undefined);
  const step = isFiltered ? Math.max(limit, FEWEST_FILTERED) : limit;
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

/** The terms that count, with their frequencies, and how many memories the spaces have. */
async function weigh(parts: SearchParts, read: ReadQuery, spaceTerms: readonly string[]) {
  const { documents, averageLength } = await parts.corpus.totals();
  const names = [...new Set([...read.terms.map(({ engineTerm }) => engineTerm), ...spaceTerms])];
  const frequencies = await parts.corpus.frequencies(names, documents);
  const terms = read.terms
    .map((term) => ({ ...term, df: frequencies.get(term.engineTerm) ?? 0 }))
    .sort((a, b) => Number(a.df === 0) - Number(b.df === 0) || a.df - b.df)
    .slice(0, MOST_TERMS);
  const scored: QueryTerm[] = terms.map(({ term, place, df }) => ({
    term,
    hash: termHash(term),
    place,
    idf: inverseFrequency(documents, df),
  }));
  const words = new Set(terms.map(({ place }) => place)).size;
  const inSpaces = spaceTerms.reduce((sum, term) => sum + (frequencies.get(term) ?? 0), 0);
  return { documents, inSpaces, terms, query: { terms: scored, words, averageLength } };
}

/**
 * The memories of the spaces that have terms of the query, best first. One matching term outside quotes is enough;
 * quoted phrases are required.
 */
export async function searchMemories(parts: SearchParts, search: MemorySearch): Promise<readonly MemoryHit[]> {
  const read = readQuery(parts.analysis, search.query);
  if (read.terms.length === 0 || search.spaces.length === 0 || search.limit < 1) return [];
  const spaceTerms = search.spaces.map(spaceTerm);
  const { documents, inSpaces, terms, query } = await weigh(parts, read, spaceTerms);
  const planned = terms.map(({ engineTerm: term, start, end, df }) => ({ term, start, end, df }));
  const filter = inSpaces >= documents * LARGE_SHARE ? [] : spaceTerms;
  const plan = planCandidates(planned, read.required, filter, documents);
  const conditions = { filters: search.filters, phrases: read.phrases, minScore: search.filters.minScore ?? 0 };
  const hits: MemoryHit[] = [];
  for await (const seqs of findCandidates(parts.engine, plan)) {
    const scored = await scoreDocuments(parts.database, seqs, spaceTerms, query);
    const wanted = search.limit - hits.length;
    hits.push(...(await accept(parts, scored, conditions, wanted, search.filters.explain === true)));
    if (hits.length >= search.limit) break;
  }
  return hits.sort((a, b) => b.score - a.score);
}
