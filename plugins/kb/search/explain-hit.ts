import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { Explanation } from '../contract/kb.js';
import { formatEvidenceRef, lineRange } from '../documents/evidence-ref.js';
import type { Boosts } from './filter-sources.js';
import type { IndexSearch, KeywordHit } from './index-search.js';
import { isSegmented } from './ranking.js';
import type { ReadQuery } from './read-query.js';
import type { RepoSnapshot, SourceRow } from './repo-snapshot.js';
import type { CandidateScore } from './score-candidates.js';
import { makeSnippet } from './snippet.js';

/** A scored chunk with its source and boosts. */
export interface Found {
  readonly repo: RepoSnapshot;
  readonly slot: number;
  readonly source: SourceRow;
  readonly boosts: Boosts;
  readonly score: CandidateScore;
  readonly total: number;
  readonly feedback: readonly string[];
  startLine: number;
}

export interface StoredChunk {
  readonly chunk_id: string;
  readonly heading: string | null;
  readonly heading_path: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly content: string;
  readonly content_hash: Uint8Array;
}

type ReadChunk = { get(bindings?: readonly unknown[]): object | undefined };

/** By score; ties by repo, path and start line. */
export function createOrder(readChunk: ReadChunk): (a: Found, b: Found) => number {
  const lineOf = (one: Found): number => {
    if (one.startLine === 0) one.startLine = (readChunk.get([one.repo.chunkIds[one.slot]]) as StoredChunk).start_line;
    return one.startLine;
  };
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return (a, b) =>
    b.total - a.total ||
    compare(a.repo.name, b.repo.name) ||
    compare(a.source.path, b.source.path) ||
    lineOf(a) - lineOf(b);
}

/** The parts of a score, and the words of the query that it comes from. */
export function explain(one: Found, query: ReadQuery, readChunk: ReadChunk): Explanation {
  const chunk = readChunk.get([one.repo.chunkIds[one.slot]]) as StoredChunk;
  const { score, boosts, source } = one;
  const frequencies: Record<string, number> = {};
  const segmented = score.terms.filter(({ term }) => isSegmented(term.class));
  const matched = score.terms.filter(({ term }) => {
    if (!isSegmented(term.class)) return true;
    const isPart = segmented.some(
      (other) =>
        other.term.start <= term.start &&
        other.term.end >= term.end &&
        other.term.end - other.term.start > term.end - term.start,
    );
    return !isPart;
  });
  for (const { term, count } of matched) {
    const word = query.words.get(term.term) ?? term.term;
    frequencies[word] = Math.max(frequencies[word] ?? 0, count);
  }
  return {
    path: source.path,
    heading: chunk.heading,
    lines: lineRange({ startLine: chunk.start_line, endLine: chunk.end_line }),
    score: one.total,
    matched_terms: Object.keys(frequencies),
    term_frequencies: frequencies,
    terms: score.terms.map(({ term, field, tf, contribution: own }) => ({
      term: term.term,
      class: term.class,
      field,
      tf,
      df: term.df,
      idf: term.idf,
      weight: term.weight,
      contribution: own,
      ...(term.expandedFrom === undefined ? {} : { expanded_from: term.expandedFrom }),
    })),
    bm25_score: score.parts.bm25,
    parts: score.parts,
    ...(score.parts.feedback > 0 ? { feedback_terms: one.feedback } : {}),
    text_score: score.text,
    document_boost: boosts.document,
    recency_boost: boosts.recency,
    doc_type: source.docType,
    days: boosts.days,
  };
}

const noSnippet = { text: '', start_line: 0, end_line: 0, marks: [] };

export function toHit(
  one: Found,
  query: ReadQuery,
  weights: ReadonlyMap<string, number>,
  wanted: IndexSearch,
  readChunk: ReadChunk,
  analysis: TextAnalysis,
): KeywordHit {
  const chunk = readChunk.get([one.repo.chunkIds[one.slot]]) as StoredChunk;
  const { source, repo } = one;
  const range = { startLine: chunk.start_line, endLine: chunk.end_line };
  return {
    chunk_id: chunk.chunk_id,
    repo: repo.name,
    path: source.path,
    heading: chunk.heading,
    heading_path: JSON.parse(chunk.heading_path) as string[],
    lines: lineRange(range),
    start_line: chunk.start_line,
    end_line: chunk.end_line,
    score: one.total,
    doc_type: source.docType,
    tags: source.tags,
    mtime: new Date(source.mtime).toISOString(),
    evidence_ref: formatEvidenceRef({ chunkId: chunk.chunk_id, path: source.path, ...range }),
    snippet: wanted.details ? makeSnippet(analysis, chunk.content, chunk.start_line, weights) : noSnippet,
    ...(wanted.content ? { content: chunk.content } : {}),
    ...(wanted.details && isStale(repo, source) ? { stale: true as const } : {}),
    explanation: explain(one, query, readChunk),
    contentHash: Buffer.from(chunk.content_hash).toString('hex'),
  };
}

/** Whether the file is no longer the one that was indexed. */
function isStale({ root }: Pick<RepoSnapshot, 'root'>, source: SourceRow): boolean {
  if (source.isStale) return true;
  try {
    const stats = statSync(join(root, source.path), { bigint: true });
    return stats.size !== BigInt(source.bytes) || String(stats.mtimeNs) !== source.mtimeNs;
  } catch {
    return true;
  }
}
