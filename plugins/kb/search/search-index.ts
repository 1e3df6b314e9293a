import { statSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import { inverseFrequency, type TextAnalysis } from 'mortise/contracts/text-analysis';
import picomatch from 'picomatch';
import type { EmptyReason, Explanation, Hit } from '../contract/kb.js';
import { type DocTypeRule, documentBoost } from '../documents/doc-type.js';
import { formatEvidenceRef, lineRange } from '../documents/evidence-ref.js';
import { decodeStream, type TokenStream } from '../index/token-stream.js';
import { closeTerms } from './close-terms.js';
import type { ParsedQuery } from './parse-syntax.js';
import { isSegmented, ranking, recencyBoost } from './ranking.js';
import { columnFrequency, type RepoSnapshot, readRepoRow, type SourceRow, takeSnapshot } from './repo-snapshot.js';
import { type CandidateScore, contribution, hasPhrase, type ScoredTerm, scoreCandidates } from './score-candidates.js';
import { makeSnippet } from './snippet.js';

/** A validated search. */
export interface IndexSearch {
  /** What is analysed; equals `query` without operators. */
  readonly text: string;
  readonly syntax: ParsedQuery | undefined;
  readonly repos: readonly string[];
  /** Hits needed, counted from the best one. */
  readonly limit: number;
  readonly scope: string | undefined;
  readonly docTypes: readonly string[];
  readonly tags: readonly string[];
  readonly pathGlob: string | undefined;
  /** Epoch milliseconds, inclusive. */
  readonly modifiedAfter: number | undefined;
  readonly modifiedBefore: number | undefined;
  readonly content: boolean;
  /** Hits have an explanation and a snippet; without them only their place and score. */
  readonly details: boolean;
  /** Epoch milliseconds of the day from which recency counts. */
  readonly asOf: number;
  /** Scores this chunk too, whether it is a candidate or not. */
  readonly chunkId?: string;
}

/** The part of the configuration that searches depend on. */
export interface SearchConfig {
  readonly docTypes: readonly DocTypeRule[];
  readonly recency: {
    readonly enabled: boolean;
    readonly amount: number;
    readonly days: number;
    readonly source: 'mtime' | 'git';
  };
  readonly perSource: number;
  readonly candidates: number;
}

/** A hit before rerank; its explanation is always made. */
export interface KeywordHit extends Omit<Hit, 'rank' | 'explanation'> {
  readonly explanation: Explanation;
  /** Hex SHA-256 of the content, to find its vector. */
  readonly contentHash: string;
}

export interface KeywordAnswer {
  readonly hits: readonly KeywordHit[];
  readonly totalCandidates: number;
  readonly reason?: EmptyReason;
  readonly notes: readonly string[];
  readonly suggestions: readonly string[];
  readonly revision: number;
  readonly lastRefresh: number | null;
  /** Of the requested chunk. */
  readonly explained?: { readonly explanation: Explanation; readonly rank: number | null } | null;
}

const dayMs = 86_400_000;
const maxPhraseChecks = 5_000;
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
    if (explained && wanted.chunkId !== undefined) {
      const at = ordered.findIndex(
        (one) => (readChunk.get([one.repo.chunkIds[one.slot]]) as StoredChunk).chunk_id === wanted.chunkId,
      );
      explained = { ...explained, rank: at < 0 ? null : at + 1 };
    }
    const rest = { notes: query.notes, suggestions: query.suggestions, totalCandidates };
    if (ordered.length === 0) {
      return empty(matchesOutside ? 'filtered_out' : 'no_match', { ...rest, ...(explained ? { explained } : {}) });
    }
    const chosen = limitPerSource(ordered, config.perSource, wanted.limit);
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

/** A scored chunk with its source and boosts. */
interface Found {
  readonly repo: RepoSnapshot;
  readonly slot: number;
  readonly source: SourceRow;
  readonly boosts: Boosts;
  readonly score: CandidateScore;
  readonly total: number;
  readonly feedback: readonly string[];
  startLine: number;
}

interface Boosts {
  readonly document: number;
  readonly recency: number;
  readonly days: number;
}

interface StoredChunk {
  readonly chunk_id: string;
  readonly heading: string | null;
  readonly heading_path: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly content: string;
  readonly content_hash: Uint8Array;
}

type ReadChunk = { get(bindings?: readonly unknown[]): object | undefined };

function weightedLength(repos: readonly RepoSnapshot[]): number {
  const chunks = repos.reduce((sum, { count }) => sum + count, 0);
  return chunks === 0 ? 0 : repos.reduce((sum, { averageLength, count }) => sum + averageLength * count, 0) / chunks;
}

function slotOfChunk(database: Database, repo: RepoSnapshot, chunkId: string): number | undefined {
  const row = database.prepare('select id from kb_chunks where chunk_id = ?').pluck().get([chunkId]);
  return row === undefined ? undefined : repo.slotOf(Number(row));
}

/** A term of the query that some repo has. */
interface QueryTerm extends Omit<ScoredTerm, 'id'> {
  /** The text of its word in the query. */
  readonly word: string;
}

interface ReadQuery {
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
function readQuery(analysis: TextAnalysis, text: string, repos: readonly RepoSnapshot[], chunks: number): ReadQuery {
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
function termsOf({ terms }: ReadQuery, repo: RepoSnapshot): readonly ScoredTerm[] {
  return terms.flatMap((term) => {
    const id = repo.term(term.term)?.id;
    return id === undefined ? [] : [{ ...term, id }];
  });
}

/** The ids of a phrase's words in order: the stem or the shortest term at each position. Undefined when one is unknown. */
function phraseIds(analysis: TextAnalysis, phrase: string, repo: RepoSnapshot): readonly number[] | undefined {
  const byStart = new Map<number, { term: string; isStem: boolean }>();
  for (const { term, class: kind, start } of analysis.analyse(phrase)) {
    if (byStart.get(start)?.isStem !== true) byStart.set(start, { term, isStem: kind === 'stem' });
  }
  const ids = [...byStart.values()].map(({ term }) => repo.term(term)?.id);
  return ids.every((id) => id !== undefined) && ids.length > 0 ? ids : undefined;
}

/** The filters of a search, on sources; undefined when it has none. */
function createFilter(
  wanted: IndexSearch,
  repo: RepoSnapshot,
  config: SearchConfig,
): ((source: number) => boolean) | undefined {
  const { scope, syntax } = wanted;
  const isOpen = [scope, wanted.pathGlob, wanted.modifiedAfter, wanted.modifiedBefore, syntax].every(
    (filter) => filter === undefined,
  );
  if (isOpen && wanted.docTypes.length === 0 && wanted.tags.length === 0) return undefined;
  const glob = wanted.pathGlob === undefined ? undefined : picomatch(wanted.pathGlob, { dot: true });
  const types = [...wanted.docTypes, ...(syntax?.types ?? [])];
  const tags = [...wanted.tags, ...(syntax?.tags ?? [])];
  const memo = new Int8Array(repo.sources.length).fill(-1);
  const matches = (source: SourceRow): boolean => {
    const time = dateOf(source, config);
    return (
      (scope === undefined || source.path.startsWith(scope)) &&
      (types.length === 0 || types.includes(source.docType)) &&
      tags.every((tag) => source.tags.includes(tag)) &&
      (glob === undefined || glob(source.path)) &&
      (wanted.modifiedAfter === undefined || time >= wanted.modifiedAfter) &&
      (wanted.modifiedBefore === undefined || time <= wanted.modifiedBefore) &&
      (syntax?.path ?? []).every((part) => source.path.toLowerCase().includes(part.toLowerCase()))
    );
  };
  return (source) => {
    const known = memo[source] ?? -1;
    if (known >= 0) return known === 1;
    const allowed = matches(repo.sources[source] as SourceRow);
    memo[source] = allowed ? 1 : 0;
    return allowed;
  };
}

/** The date of a source: its front matter, else its last commit or its file's time. */
function dateOf({ documentTime, commitTime, mtime }: SourceRow, { recency }: SearchConfig): number {
  return documentTime ?? (recency.source === 'git' ? commitTime : null) ?? mtime;
}

function boostsOf(source: SourceRow, { asOf }: IndexSearch, config: SearchConfig): Boosts {
  const days = Math.max(0, Math.floor(asOf / dayMs) - Math.floor(dateOf(source, config) / dayMs));
  const { enabled, amount, days: scale } = config.recency;
  return {
    document: documentBoost(config.docTypes, source.docType, source.path),
    recency: enabled ? recencyBoost(days, { amount, scale }) : 1,
    days,
  };
}

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

/** The chunks with the highest approximate scores, boosts included. Rare terms find them; common ones only add. */
function chooseCandidates(deps: CandidateDeps): {
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

/** By score; ties by repo, path and start line. */
function createOrder(readChunk: ReadChunk): (a: Found, b: Found) => number {
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

/** At most so many chunks of one source while others remain; in the order of scores. */
function limitPerSource(ordered: readonly Found[], perSource: number, limit: number): readonly Found[] {
  const counts = new Map<SourceRow, number>();
  const chosen: Found[] = [];
  const spare: Found[] = [];
  for (const one of ordered) {
    const count = counts.get(one.source) ?? 0;
    counts.set(one.source, count + 1);
    (count < perSource ? chosen : spare).push(one);
    if (chosen.length === limit) break;
  }
  const all = new Set([...chosen, ...spare.slice(0, Math.max(0, limit - chosen.length))]);
  return ordered.filter((one) => all.has(one));
}

/** The parts of a score, and the words of the query that it comes from. */
function explain(one: Found, query: ReadQuery, readChunk: ReadChunk): Explanation {
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

function toHit(
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
export function isStale({ root }: Pick<RepoSnapshot, 'root'>, source: SourceRow): boolean {
  if (source.isStale) return true;
  try {
    const stats = statSync(join(root, source.path), { bigint: true });
    return stats.size !== BigInt(source.bytes) || String(stats.mtimeNs) !== source.mtimeNs;
  } catch {
    return true;
  }
}
