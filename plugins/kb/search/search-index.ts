import type Database from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { EmptyReason } from '../contract/kb.js';
import { decodeStream, type TokenStream } from '../index/token-stream.js';
import { chooseCandidates } from './choose-candidates.js';
import { createOrder, explain, type Found, type StoredChunk, toHit } from './explain-hit.js';
import { type Boosts, boostsOf, createFilter, dayMs } from './filter-sources.js';
import type { IndexSearch, KeywordAnswer, SearchConfig } from './index-search.js';
import { phraseIds, readQuery, termsOf } from './read-query.js';
import { type RepoSnapshot, readRepoRow, type SourceRow, takeSnapshot } from './repo-snapshot.js';
import { type CandidateScore, scoreCandidates } from './score-candidates.js';

const maxBoostLists = 4;

/** Searches one open index. Not thread-safe: it belongs to the thread of its connection. */
export interface IndexSearcher {
  search(search: IndexSearch, config: SearchConfig): KeywordAnswer;
  snapshot(repo: string): RepoSnapshot | undefined;
}

export function createSearcher(database: Database, analysis: TextAnalysis): IndexSearcher {
  const snapshots = new Map<string, RepoSnapshot>();
  const streams = new LRUCache<number, TokenStream>({
    maxSize: 16 * 1024 * 1024,
    sizeCalculation: ({ byteLength }) => byteLength + 64,
  });
  const readStream = database.prepare('select stream from kb_chunks where id = ?').pluck();
  const readChunk = database.prepare(
    `select chunk_id, heading, heading_path, start_line, end_line, content, content_hash from kb_chunks where id = ?`,
  );

  /** The boosts of a snapshot's sources on one day; the searches of a day share them. */
  let known: { readonly of: RepoSnapshot['sources']; readonly key: string; readonly boosts: (Boosts | undefined)[] }[] =
    [];
  const boostsIn = (repo: RepoSnapshot, wanted: IndexSearch, config: SearchConfig): ((source: number) => Boosts) => {
    const key = JSON.stringify([Math.floor(wanted.asOf / dayMs), config.docTypes, config.recency]);
    let found = known.find((one) => one.of === repo.sources && one.key === key);
    if (found === undefined) {
      found = { of: repo.sources, key, boosts: Array.from(repo.sources, () => undefined) };
      known = [found, ...known].slice(0, maxBoostLists);
    }
    const { boosts } = found;
    return (source) => (boosts[source] ??= boostsOf(repo.sources[source] as SourceRow, wanted, config));
  };

  const snapshot = (name: string): RepoSnapshot | undefined => {
    const row = readRepoRow(database, name);
    if (row === undefined) return undefined;
    const known = snapshots.get(name);
    if (known?.revision === row.revision && known.id === row.id) {
      if (known.lastRefresh === row.last_refresh) return known;
      const renewed = { ...known, lastRefresh: row.last_refresh };
      snapshots.set(name, renewed);
      return renewed;
    }
    const taken = takeSnapshot(database, row);
    snapshots.set(name, taken);
    return taken;
  };

  const streamOf = (row: number): TokenStream => {
    const known = streams.get(row);
    if (known !== undefined) return known;
    const stream = decodeStream(readStream.get([row]) as Uint8Array);
    streams.set(row, stream);
    return stream;
  };

  const search = (wanted: IndexSearch, config: SearchConfig): KeywordAnswer => {
    const repos = wanted.repos.map(snapshot).filter((one) => one !== undefined);
    const revision = Math.max(0, ...repos.map((one) => one.revision));
    const refreshed = repos.map(({ lastRefresh }) => lastRefresh).filter((time) => time !== null);
    const lastRefresh = refreshed.length === 0 ? null : Math.min(...refreshed);
    const empty = (reason: EmptyReason, rest: Partial<KeywordAnswer> = {}): KeywordAnswer => ({
      hits: [],
      totalCandidates: 0,
      reason,
      notes: [],
      suggestions: [],
      revision,
      lastRefresh,
      ...rest,
    });
    if (repos.every(({ lastRefresh: at, count }) => at === null && count === 0)) return empty('not_indexed');
    const corpus = {
      chunks: repos.reduce((sum, { count }) => sum + count, 0),
      averageLength: weightedLength(repos),
    };
    const query = readQuery(analysis, wanted.text, repos, corpus.chunks);
    if (query.terms.length === 0 && !query.hasWords) return empty('no_searchable_terms');
    const found: Found[] = [];
    let totalCandidates = 0;
    let matchesOutside = false;
    let explained: KeywordAnswer['explained'];
    for (const repo of repos) {
      const terms = termsOf(query, repo);
      const allows = createFilter(wanted, repo, config);
      const boosts = boostsIn(repo, wanted, config);
      const chosen = chooseCandidates({ repo, terms, wanted, config, corpus, allows, analysis, streamOf, boosts });
      totalCandidates += chosen.total;
      matchesOutside ||= chosen.matchesOutside;
      const slots = [...chosen.slots];
      const target = wanted.chunkId === undefined ? undefined : slotOfChunk(database, repo, wanted.chunkId);
      const isCandidate = target !== undefined && slots.includes(target);
      if (target !== undefined && !isCandidate) slots.push(target);
      const candidates = slots.map((slot) => ({
        stream: streamOf(repo.chunkIds[slot] ?? 0),
        length: repo.lengths[slot] ?? 0,
      }));
      const phrases = query.phrases.map((phrase) => phraseIds(analysis, phrase, repo));
      const scored = scoreCandidates(
        { terms, phrases: phrases.filter((ids) => ids !== undefined), isStopWord: analysis.isStopWord },
        candidates,
        corpus,
        repo.termFacts,
      );
      for (const [index, slot] of slots.entries()) {
        const source = repo.sources[repo.sourceOf[slot] ?? 0] as SourceRow;
        const own = boosts(repo.sourceOf[slot] ?? 0);
        const score = scored.scores[index] as CandidateScore;
        const one: Found = {
          repo,
          slot,
          source,
          boosts: own,
          score,
          total: score.text * own.document * own.recency,
          feedback: scored.feedback.map(({ term }) => term),
          startLine: 0,
        };
        if (slot !== target || isCandidate) found.push(one);
        if (slot === target) explained = { explanation: explain(one, query, readChunk), rank: null };
      }
    }
    const ordered = found.filter(({ total }) => total > 0).sort(createOrder(readChunk));
    const selected = selectPerSource(ordered, config.perSource);
    if (explained && wanted.chunkId !== undefined) {
      const at = selected.findIndex(
        (one) => (readChunk.get([one.repo.chunkIds[one.slot]]) as StoredChunk).chunk_id === wanted.chunkId,
      );
      explained = { ...explained, rank: at < 0 ? null : at + 1 };
    }
    const missing = wanted.repos.filter(
      (name) => !repos.some((one) => one.name === name && (one.lastRefresh !== null || one.count > 0)),
    );
    const isIncomplete =
      missing.length > 0 ? [`Not indexed yet: ${missing.join(', ')} (mortise kb refresh --repo NAME).`] : [];
    const rest = { notes: [...query.notes, ...isIncomplete], suggestions: query.suggestions, totalCandidates };
    if (ordered.length === 0) {
      return empty(matchesOutside ? 'filtered_out' : 'no_match', { ...rest, ...(explained ? { explained } : {}) });
    }
    const page = new Set(selected.slice(wanted.offset, wanted.limit));
    const chosen = ordered.filter((one) => page.has(one));
    const weights = new Map(query.weights);
    return {
      hits: chosen.map((one) => toHit(one, query, weights, wanted, readChunk, analysis)),
      revision,
      lastRefresh,
      ...rest,
      ...(explained === undefined ? {} : { explained }),
    };
  };
  return { search, snapshot };
}

function weightedLength(repos: readonly RepoSnapshot[]): number {
  const chunks = repos.reduce((sum, { count }) => sum + count, 0);
  return chunks === 0 ? 0 : repos.reduce((sum, { averageLength, count }) => sum + averageLength * count, 0) / chunks;
}

function slotOfChunk(database: Database, repo: RepoSnapshot, chunkId: string): number | undefined {
  const row = database.prepare('select id from kb_chunks where chunk_id = ?').pluck().get([chunkId]);
  return row === undefined ? undefined : repo.slotOf(Number(row));
}

/** The order in which chunks become hits: at most so many of one source by score, then the rest by score. */
function selectPerSource(ordered: readonly Found[], perSource: number): readonly Found[] {
  const counts = new Map<SourceRow, number>();
  const first: Found[] = [];
  const rest: Found[] = [];
  for (const one of ordered) {
    const count = counts.get(one.source) ?? 0;
    counts.set(one.source, count + 1);
    (count < perSource ? first : rest).push(one);
  }
  return [...first, ...rest];
}
