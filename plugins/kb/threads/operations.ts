import { existsSync, statSync } from 'node:fs';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import { kbError } from '../errors.js';
import { answerSet, type EvaluateOptions, plainSearch } from '../evaluate/evaluate-set.js';
import { readSet } from '../evaluate/read-set.js';
import { addToDay, countsOfWeek, type WeekCounts } from '../index/day-counts.js';
import {
  type EmbedderId,
  missingContents,
  queryVector,
  storeQueryVector,
  storeVectors,
  vectorsOf,
} from '../index/embeddings.js';
import { createIntegrityCheck, type IndexFile, moveAside, openIndex, toUnavailable } from '../index/open-index.js';
import {
  type ChunkQuery,
  healthOf,
  type LinesQuery,
  readChunkDetails,
  readIndexedLines,
  readSources,
  readStats,
  resolveEvidence,
  type SourcesQuery,
} from '../index/read-index.js';
import { refreshRepo } from '../index/refresh-repo.js';
import type { RefreshOptions, RepoConfig } from '../index/refresh-work.js';
import { type RepairOptions, repairIndex } from '../index/repair-index.js';
import { scanRepo } from '../scan/scan-repo.js';
import type { IndexSearch, KeywordAnswer, SearchConfig } from '../search/index-search.js';
import { createSearcher, type IndexSearcher } from '../search/search-index.js';

/** What a running operation can report, and by what it is cancelled. */
export interface OperationHooks {
  progress(phase: string, done: number, total: number): void;
  isCancelled(): boolean;
  begin(path: string): void;
}

/** The work of a thread on the index. Everything is synchronous; one operation runs at a time. */
export type Operations = ReturnType<typeof createOperations>;

/** Searches check at most this often that the open file is still the one on disk, milliseconds. */
const checkEveryMs = 1_000;

const notIndexed: KeywordAnswer = {
  hits: [],
  totalCandidates: 0,
  reason: 'not_indexed',
  notes: [],
  suggestions: [],
  revision: 0,
  lastRefresh: null,
};

/** The operations on one index file. The connection is opened on first use. */
export function createOperations(file: string, analysis: TextAnalysis) {
  let open: { readonly index: IndexFile; readonly searcher: IndexSearcher; readonly write: boolean } | undefined;
  let checked = 0;

  const checkIntegrity = createIntegrityCheck(file);
  const close = (): void => {
    open?.index.close();
    open = undefined;
  };
  const opened = (write: boolean): typeof open => {
    const now = Date.now();
    const isDue = write || now - checked > checkEveryMs;
    if (open !== undefined && ((write && !open.write) || (isDue && !isCurrent(open.index)))) close();
    if (isDue) checked = now;
    if (open === undefined) {
      const index = openIndex(file, { write });
      open = index && { index, searcher: createSearcher(index.database, analysis), write };
    }
    return open;
  };
  /** Runs with one state of the index; a failure of the database closes it, so that the next call opens it again. */
  const reading = <R>(
    run: (opened: { readonly index: IndexFile; readonly searcher: IndexSearcher }) => R,
    missing: () => R,
  ): R => {
    const current = opened(false);
    if (current === undefined) return missing();
    const { database } = current.index;
    try {
      database.exec('begin');
      return run(current);
    } catch (error) {
      if ((error as { status?: unknown }).status === undefined) checked = 0;
      throw toUnavailable(error);
    } finally {
      if (database.open && database.inTransaction) database.exec('rollback');
    }
  };
  /** Whether the file on disk is an index now. */
  const isReadable = (): boolean => {
    checked = 0;
    try {
      return reading(
        () => true,
        () => false,
      );
    } catch {
      return false;
    }
  };
  const writing = <R>(run: (index: IndexFile) => R): R => {
    const current = opened(true);
    if (current === undefined) throw kbError('index_unavailable', { problem: 'its file cannot be created' });
    return run(current.index);
  };

  return {
    search: (wanted: IndexSearch, config: SearchConfig): KeywordAnswer =>
      reading(
        ({ searcher }) => searcher.search(wanted, config),
        () => notIndexed,
      ),
    chunk: (query: ChunkQuery) =>
      reading(
        ({ index }) => readChunkDetails(index.database, query),
        () => {
          throw kbError('chunk_not_found', { chunk_id: query.chunkId });
        },
      ),
    evidence: (ref: string, repos: readonly string[], chosen?: string) =>
      reading(
        ({ index }) => resolveEvidence(index.database, ref, repos, chosen),
        () => resolveEvidence(undefined, ref, repos, chosen),
      ),
    lines: (query: LinesQuery & { readonly repos: readonly string[] }) =>
      reading(
        ({ index }) => readIndexedLines(index.database, query),
        () => {
          throw kbError('source_not_found', { path: query.path ?? query.ref });
        },
      ),
    sources: (query: SourcesQuery) =>
      reading(
        ({ index }) => readSources(index.database, query),
        () => ({ items: [], next: null }),
      ),
    stats: (repos: readonly string[], embedder: EmbedderId | undefined) =>
      reading(
        ({ index }) => readStats(index, repos, embedder),
        () => readStats(undefined, repos, embedder),
      ),
    /** Whether a repo was ever refreshed, or has chunks. @throws when the index cannot be used */
    isIndexed: (repo: string): boolean =>
      reading(
        ({ index }) =>
          index.database.prepare('select last_refresh from kb_repos where name = ?').pluck().get([repo]) != null,
        () => false,
      ),
    health: (repos: readonly string[]) => healthOf(opened(false)?.index, repos, checkIntegrity),
    /** The folders of a repo that are scanned, relative to its root. @throws MortiseError `repo_unavailable` */
    folders: ({ name, root, rules }: RepoConfig): readonly string[] =>
      scanRepo(name, root, { ...rules, include: [] }).folders,
    refresh: (config: RepoConfig, options: RefreshOptions, hooks: OperationHooks) =>
      writing((index) => refreshRepo(index, analysis, config, options, hooks)),
    /** Deletes the rows of one repo. */
    drop: (repo: string) =>
      writing(({ database }) => {
        const id = database.prepare('select id from kb_repos where name = ?').pluck().get([repo]);
        if (id !== undefined) repairIndex.dropRepo(database, Number(id));
      }),
    repair: (options: RepairOptions, hooks: OperationHooks) => {
      close();
      return repairIndex.run(file, options, hooks);
    },
    /** Moves an unusable index aside. */
    setAside: (): string | undefined => {
      close();
      return existsSync(file) ? moveAside(file) : undefined;
    },
    vectors: (hashes: readonly string[], embedder: EmbedderId) =>
      reading(
        ({ index }) => vectorsOf(index.database, hashes, embedder),
        () => [],
      ),
    queryVector: (query: string, embedder: EmbedderId) =>
      reading(
        ({ index }) => queryVector(index.database, query, embedder),
        () => undefined,
      ),
    storeQueryVector: (query: string, embedder: EmbedderId, vector: Float32Array) =>
      writing(({ database }) => storeQueryVector(database, query, embedder, vector)),
    missingContents: (embedder: EmbedderId, limit: number, repo: string | undefined, after: string) =>
      writing(({ database }) => missingContents(database, embedder, limit, repo, after)),
    storeVectors: (embedder: EmbedderId, hashes: readonly string[], vectors: readonly Float32Array[]) =>
      writing(({ database }) => storeVectors(database, embedder, hashes, vectors)),
    /** Deletes the vectors of other embedders and models. @returns their number */
    forgetOtherVectors: ({ embedder, model, dimensions }: EmbedderId) =>
      writing(({ database }) => {
        const other = 'not (embedder = ? and model = ? and dimensions = ?)';
        database.prepare(`delete from kb_query_vectors where ${other}`).run([embedder, model, dimensions]);
        return database.prepare(`delete from kb_embeddings where ${other}`).run([embedder, model, dimensions]).changes;
      }),
    evaluate: (folder: string, options: EvaluateOptions, hooks: OperationHooks) =>
      answerSet(readSet(folder), analysis, { ...options, progress: hooks.progress }),
    /** Adds to the counts of the week. @returns false while there is no usable index to keep it in */
    count: (counts: WeekCounts): boolean => {
      // Opening it for writing would create a missing index, and replace a damaged one by an empty one.
      if (!isReadable()) return false;
      writing(({ database }) => addToDay(database, counts, Date.now()));
      return true;
    },
    counts: (): WeekCounts =>
      reading(
        ({ index }) => countsOfWeek(index.database, Date.now()),
        () => ({ errors: 0, empty: 0 }),
      ),
    plainSearch: (text: string, limit: number, repos: readonly string[], config: SearchConfig): KeywordAnswer =>
      reading(
        ({ searcher }) => searcher.search(plainSearch(text, limit, repos), config),
        () => notIndexed,
      ),
    close,
  };
}

function isCurrent(index: IndexFile): boolean {
  try {
    return statSync(index.file).size > 0 && index.isCurrent();
  } catch {
    return false;
  }
}
