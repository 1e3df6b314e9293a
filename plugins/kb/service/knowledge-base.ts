import { hash } from 'node:crypto';
import type { AuditService } from 'mortise/contracts/logbook';
import { type CallOptions, isCodedError, type Logger, MortiseError, newUlid, type Points } from 'mortise/sdk';
import type {
  ChunkDetails,
  Degraded,
  EvidenceAnswer,
  Hit,
  KbStats,
  RefreshReport,
  SearchAnswer,
} from '../contract/kb.js';
import { fromWireError, kbError } from '../errors.js';
import type { EmbedderId } from '../index/embeddings.js';
import type { LinesQuery, SourcesQuery } from '../index/read-index.js';
import type { RepairReport } from '../index/repair-index.js';
import type { KeywordAnswer, KeywordHit } from '../search/index-search.js';
import type { Operations } from '../threads/operations.js';
import { SlowFile, type Thread } from '../threads/thread.js';
import { bindEmbedder } from './embedding.js';
import { createFallbackAudit } from './fallback-audit.js';
import { createJobs, type Job, type JobContext, type Jobs } from './jobs.js';
import { type ReadRefresh, readRefresh, readSearch } from './read-request.js';
import { rerankHits } from './rerank-hits.js';
import { type KbSettings, type Repo, repoOfFolder } from './settings.js';

export interface KbDeps {
  readonly settings: KbSettings;
  /** Searches and other reads. */
  readonly reader: Thread;
  /** Refreshes and other long work. */
  readonly worker: Thread;
  readonly points: Points;
  audit(): AuditService | undefined;
  readonly auditSearches: boolean;
  readonly log: Logger;
  /** Counts a search that was answered without the vectors it asked for. */
  countFallback(): void;
  countSearch(isEmpty: boolean, ms: number): void;
}

export interface EmbedReport {
  readonly total: number;
  readonly built: number;
  readonly skipped: number;
  readonly errors: number;
}

/** Everything that routes, commands and tools ask of the knowledge base. */
export interface KbService {
  readonly jobs: Jobs;
  readonly settings: KbSettings;
  /** The repo by name or folder; the first configured one by default. @throws MortiseError `repo_not_found` */
  repoOf(choice: RepoChoice): Repo;
  search(body: unknown, choice: RepoChoice, options?: CallOptions): Promise<SearchAnswer>;
  /** The folders of a repo that are scanned, relative to its root. @throws MortiseError `repo_unavailable` */
  foldersOf(repo: Repo): Promise<readonly string[]>;
  chunk(
    chunkId: string,
    more?: { readonly query?: string | undefined; readonly terms?: boolean },
  ): Promise<ChunkDetails>;
  evidence(ref: string, repo?: string): Promise<EvidenceAnswer>;
  /** The lines of a ref or of an indexed path. @throws MortiseError `source_not_found`, `invalid_evidence_ref`, `invalid_request` */
  readLines(query: LinesQuery): Promise<ReturnType<Operations['lines']>>;
  /** The report of a job once it is done. @throws what the job failed with */
  reportOf(jobId: string): Promise<object>;
  sources(query: SourcesQuery): Promise<ReturnType<Operations['sources']>>;
  stats(choice?: RepoChoice): Promise<KbStats>;
  health(): Promise<{ readonly status: number; readonly body: object }>;
  refresh(request: Readonly<Record<string, unknown>>, choice: RepoChoice, options?: CallOptions): Job;
  reindex(choice: RepoChoice, options?: CallOptions): Job;
  /** Deletes what is indexed of a repo. */
  forget(repo: string): Promise<void>;
  repair(options: { readonly check: boolean; readonly deep: boolean }): Job;
  embed(
    kind: 'embed_build' | 'embed_refresh',
    choice: RepoChoice | undefined,
    batch: number | undefined,
    options?: CallOptions,
  ): Job;
  evaluateFolder(folder: string, cutOffs: readonly number[]): Job;
  close(): Promise<void>;
}

/** A repo by its name, or any folder. */
export interface RepoChoice {
  readonly repo?: string | undefined;
  readonly root?: string | undefined;
}

const weekMs = 7 * 86_400_000;
const searchLimitMs = 30_000;

export function createKnowledgeBase(deps: KbDeps): KbService {
  const { settings, reader, worker, log } = deps;
  const jobs = createJobs();
  const embedder = bindEmbedder(deps.points, settings.rerank.embedder);
  const fallback = createFallbackAudit(deps.audit, log);
  const recent: { readonly at: number; readonly kind: 'error' | 'empty' }[] = [];
  const note = (kind: 'error' | 'empty'): void => {
    recent.push({ at: Date.now(), kind });
    if (recent.length > 100_000) recent.shift();
  };

  const repoOf = ({ repo, root }: RepoChoice): Repo => {
    if (root !== undefined) return repoOfFolder(root);
    const found = repo === undefined ? settings.repos[0] : settings.repos.find(({ name }) => name === repo);
    if (found === undefined) {
      throw kbError('repo_not_found', { repo: repo ?? '', known: settings.repos.map(({ name }) => name) });
    }
    return found;
  };
  const reposOf = (choice: RepoChoice): readonly string[] =>
    choice.repo === '*' ? settings.repos.map(({ name }) => name) : [repoOf(choice).name];

  /** Reorders hits by vectors where that is possible; any failure keeps the order of keywords. */
  const rerank = async (
    query: string,
    answer: KeywordAnswer,
    depth: number,
    options: CallOptions,
  ): Promise<{
    readonly hits: readonly KeywordHit[];
    readonly mode: 'keyword' | 'hybrid';
    readonly degraded?: Degraded;
  }> => {
    const { alpha, minCoverage, timeoutMs } = settings.rerank;
    const keyword = { hits: answer.hits, mode: 'keyword' as const };
    if (answer.hits.length === 0) return keyword;
    try {
      const id = embedder.id();
      const vector = await queryVectorOf(query, id, { ...options, timeoutMs });
      if (id === undefined) return keyword;
      const candidates = answer.hits.slice(0, depth);
      const vectors = await reader.call('vectors', [candidates.map(({ contentHash }) => contentHash), id]);
      await fallback.succeeded(id.embedder);
      const coverage = vectors.filter((one) => one !== null).length / candidates.length;
      if (coverage < minCoverage) {
        const message = `Only ${Math.round(coverage * 1_000) / 10}% of the candidates have a vector; keywords alone decide the order.`;
        return { ...keyword, degraded: { code: 'embedding_coverage_low', message, hint: 'mortise kb embed build' } };
      }
      return { hits: rerankHits(answer.hits, vectors, vector, alpha), mode: 'hybrid' };
    } catch (error) {
      if (options.signal?.aborted) throw error;
      deps.countFallback();
      log.warn(
        { err: error, embedder: settings.rerank.embedder },
        'The embedder failed; keywords alone decide the order.',
      );
      await fallback.failed(
        { principal: options.principal, correlationId: options.correlationId },
        settings.rerank.embedder,
      );
      return {
        ...keyword,
        degraded: {
          code: 'embedder_unavailable',
          ...failureOf(error, settings.rerank.embedder, embedder.id() !== undefined),
        },
      };
    }
  };
  const queryVectorOf = async (
    query: string,
    id: EmbedderId | undefined,
    options: CallOptions,
  ): Promise<Float32Array> => {
    const known = id && (await reader.call('queryVector', [query, id]));
    if (known !== undefined) return known;
    const [vector = new Float32Array()] = await embedder.embed([query], 'query', options);
    if (id !== undefined) {
      // The answer does not wait for it, and a locked index does not fail it.
      worker
        .call('storeQueryVector', [query, id, vector])
        .catch((error: unknown) => log.debug({ err: error }, 'A query vector was not stored.'));
    }
    return vector;
  };

  const search: KbService['search'] = async (body, choice, options = {}) => {
    const begun = performance.now();
    const read = readSearch(body, settings);
    const repos = reposOf(choice);
    const wantsRerank = read.rerank ?? settings.rerank.enabled;
    const needed = read.offset + read.topK;
    // The same for every page, so that a hit has one score.
    const depth = Math.min(100, Math.max(settings.rerank.candidateK, read.topK));
    const limit = wantsRerank ? Math.max(needed, depth) : needed;
    let answer: KeywordAnswer;
    try {
      answer = await reader.call('search', [{ ...read.wanted, repos, limit }, settings.search], {
        signal: options.signal,
        timeoutMs: searchLimitMs,
      });
    } catch (error) {
      note('error');
      throw error;
    }
    const ranked = wantsRerank
      ? await rerank(read.query, answer, depth, options)
      : { hits: answer.hits, mode: 'keyword' as const };
    const results = ranked.hits
      .slice(read.offset, needed)
      .map((hit, index) => toHit(hit, read.offset + index + 1, read.explain));
    if (results.length === 0) note('empty');
    const took = performance.now() - begun;
    deps.countSearch(results.length === 0, took);
    const found: SearchAnswer = {
      query: read.query,
      mode: ranked.mode,
      results,
      total_candidates: answer.totalCandidates,
      ...(answer.reason === undefined ? {} : { reason: answer.reason }),
      ...notesOf(answer),
      ...(answer.suggestions.length > 0 ? { suggestions: answer.suggestions } : {}),
      ...('degraded' in ranked && ranked.degraded ? { degraded: ranked.degraded } : {}),
      index: {
        revision: answer.revision,
        last_refresh: answer.lastRefresh === null ? null : new Date(answer.lastRefresh).toISOString(),
      },
      retrieval_id: `retrieval-${newUlid().toLowerCase()}`,
      took_ms: Math.round(took * 100) / 100,
    };
    if (deps.auditSearches) await auditSearch(found, options);
    return found;
  };

  const auditSearch = async (answer: SearchAnswer, { principal, correlationId }: CallOptions): Promise<void> => {
    const extra = {
      query_sha256: hash('sha256', answer.query),
      mode: answer.mode,
      hits: answer.results.length,
      paths: answer.results.slice(0, 5).map(({ path }) => path),
    };
    await deps
      .audit()
      ?.write({
        action: 'allow',
        operation: 'kb:search',
        reason: 'kb:searched',
        principal: principal?.id ?? null,
        correlationId: correlationId ?? null,
        evidence: { source: 'gateway', extra },
      })
      .catch((error: unknown) => log.warn({ err: error }, 'A search could not be audited.'));
  };

  /** Runs a refresh, again without a file that took too long. */
  const runRefresh = async (repo: Repo, request: ReadRefresh, ctx: JobContext): Promise<RefreshReport> => {
    const slow: string[] = [];
    for (;;) {
      try {
        const report = await worker.call(
          'refresh',
          [
            settings.repoConfig(repo),
            { mode: request.mode, ...(request.paths ? { paths: request.paths } : {}), tooSlow: slow },
          ],
          { signal: ctx.signal, onProgress: ctx.progress, onSlowFile: (path) => void slow.push(path) },
        );
        if (report.warnings.length > 0)
          log.warn({ repo: repo.name, warnings: report.warnings.slice(0, 10) }, 'A refresh has warnings.');
        return report;
      } catch (error) {
        if (!(error instanceof SlowFile) || slow.length > 20) throw error;
      }
    }
  };

  /** Embeds what has no vector yet, in batches. A failed batch is counted and skipped. */
  const buildVectors = async (
    repo: string | undefined,
    batch: number,
    ctx: JobContext,
    options: CallOptions,
  ): Promise<EmbedReport> => {
    const id = embedder.id();
    if (id === undefined) throw kbError('embedder_unavailable', { embedder: settings.rerank.embedder });
    let after = '';
    let built = 0;
    let errors = 0;
    let total = 0;
    let missing: number | undefined;
    for (;;) {
      ctx.signal.throwIfAborted();
      const next = await worker.call('missingContents', [id, batch, repo, after]);
      total = next.total;
      missing ??= next.missing;
      if (next.contents.length === 0) return { total, built, skipped: total - missing, errors };
      ctx.progress('embed', built + errors, missing);
      after = next.contents.at(-1)?.hash ?? after;
      try {
        const texts = next.contents.map(({ content }) => content);
        const vectors = await embedder.embed(texts, 'document', { ...options, signal: ctx.signal });
        await worker.call('storeVectors', [id, next.contents.map((one) => one.hash), vectors]);
        built += next.contents.length;
      } catch (error) {
        ctx.signal.throwIfAborted();
        errors += next.contents.length;
        log.warn({ err: error, embedder: id.embedder }, 'A batch of texts could not be embedded.');
        if (embedder.id() === undefined) return { total, built, skipped: total - missing, errors: missing - built };
      }
    }
  };

  const refreshed = async (
    repo: Repo,
    request: ReadRefresh,
    ctx: JobContext,
    options: CallOptions,
  ): Promise<RefreshReport> => {
    const report = await runRefresh(repo, request, ctx);
    const id = embedder.id();
    const isWanted =
      settings.rerank.enabled || (id !== undefined && (await worker.call('stats', [[], id])).embeddings.total > 0);
    if (!isWanted || id === undefined) return report;
    const embeddings = await buildVectors(repo.name, embedder.batch, ctx, options);
    return { ...report, embeddings };
  };

  /** A failed refresh is an error of the knowledge base, as a failed search is. */
  const counted = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'cancelled') note('error');
      throw error;
    }
  };

  const assertIdle = (repo: string): void => {
    const active = jobs.active(repo);
    if (active !== undefined) throw kbError('refresh_running', { repo, job_id: active.id });
  };

  return {
    jobs,
    settings,
    repoOf,
    search,
    foldersOf: (repo) => worker.call('folders', [settings.repoConfig(repo)]),
    chunk: async (chunkId, { query, terms = false } = {}) => {
      const details = await reader.call('chunk', [{ chunkId, terms }]);
      if (query === undefined) return details;
      const read = readSearch({ query, top_k: 100 }, settings);
      const { explained } = await reader.call('search', [
        { ...read.wanted, repos: [details.repo], limit: 100, chunkId },
        settings.search,
      ]);
      return { ...details, explanation: explained?.explanation ?? null, rank: explained?.rank ?? null };
    },
    evidence: (ref, repo) => reader.call('evidence', [ref, settings.repos.map(({ name }) => name), repo]),
    readLines: (query) =>
      reader.call('lines', [
        {
          ...query,
          repos:
            query.repo === undefined ? settings.repos.map(({ name }) => name) : [repoOf({ repo: query.repo }).name],
        },
      ]),
    reportOf: async (jobId) => {
      const { state, report, error } = await jobs.wait(jobId);
      if (state === 'done' && report !== undefined) return report;
      throw error === undefined
        ? new MortiseError('cancelled', 'The job was cancelled.', { status: 499 })
        : fromWireError(error);
    },
    sources: (query) => reader.call('sources', [query]),
    stats: (choice) => {
      const repos = choice === undefined ? settings.repos.map(({ name }) => name) : reposOf(choice);
      return reader.call('stats', [repos, embedder.id()]);
    },
    health: async () => {
      const since = Date.now() - weekMs;
      const countOf = (kind: 'error' | 'empty'): number =>
        recent.filter((one) => one.kind === kind && one.at > since).length;
      const counts = { errors_7d: countOf('error'), empty_answers_7d: countOf('empty') };
      try {
        const { lagSeconds, orphans, staleness, checkedAt, ...checks } = await reader.call('health', [
          settings.repos.map(({ name }) => name),
        ]);
        const { embeddings } = await reader.call('stats', [[], embedder.id()]);
        const ok = checks.integrity && orphans === 0;
        const all = { ...checks, orphans: orphans === 0, staleness: staleness === 0, embeddings: embeddings.coverage };
        const checked_at = new Date(checkedAt).toISOString();
        return {
          status: ok ? 200 : 503,
          body: { ok, checks: all, index_lag_seconds: lagSeconds, ...counts, checked_at },
        };
      } catch (error) {
        const { code, message, hint } = error as { code?: string; message?: string; hint?: string };
        const checks = { fts5: code !== 'fts5_not_available', schema: code !== 'index_newer', integrity: false };
        return {
          status: 503,
          body: {
            ok: false,
            checks,
            error: { code, message, hint },
            index_lag_seconds: null,
            ...counts,
            checked_at: new Date().toISOString(),
          },
        };
      }
    },
    refresh: (request, choice, options = {}) => {
      const repo = repoOf(choice);
      const read = readRefresh(request);
      assertIdle(repo.name);
      return jobs.start('refresh', repo.name, (ctx) => counted(refreshed(repo, read, ctx, options)));
    },
    reindex: (choice, options = {}) => {
      const repo = repoOf(choice);
      assertIdle(repo.name);
      return jobs.start('reindex', repo.name, async (ctx) => {
        await worker.call('drop', [repo.name]);
        return counted(refreshed(repo, { mode: 'full', paths: undefined }, ctx, options));
      });
    },
    forget: async (repo) => {
      assertIdle(repo);
      await worker.call('drop', [repo]);
    },
    repair: (options) =>
      jobs.start('repair', null, async (ctx) => {
        const report = await worker.call('repair', [options], { signal: ctx.signal, onProgress: ctx.progress });
        const reports: RefreshReport[] = [];
        if (report.needs_refresh && !options.check) {
          for (const repo of settings.repos) {
            reports.push(await runRefresh(repo, { mode: 'incremental', paths: undefined }, ctx));
          }
        }
        return { ...report, refreshed: reports } satisfies RepairReport & { refreshed: readonly RefreshReport[] };
      }),
    embed: (kind, choice, batch, options = {}) => {
      const repo = choice === undefined ? undefined : repoOf(choice).name;
      return jobs.start(kind, repo ?? null, async (ctx) => {
        const report = await buildVectors(repo, batch ?? embedder.batch, ctx, options);
        const id = embedder.id();
        const removed =
          kind === 'embed_refresh' && id !== undefined ? await worker.call('forgetOtherVectors', [id]) : 0;
        return { ...report, removed };
      });
    },
    evaluateFolder: (folder, cutOffs) =>
      jobs.start('evaluate', null, (ctx) => {
        const anyRepo = settings.repos[0] ?? { name: 'default', root: folder };
        const { limits } = settings.repoConfig(anyRepo);
        const plain = { ...settings.search, docTypes: [], recency: { ...settings.search.recency, enabled: false } };
        return worker.call('evaluate', [folder, { cutOffs, limits, search: plain }], { onProgress: ctx.progress });
      }),
    close: async () => {
      await jobs.close();
      await fallback.flush();
      await Promise.all([reader.close(), worker.close()]);
    },
  };
}

/** What a search says when the embedder could not be asked, or gave no vector. */
function failureOf(error: unknown, embedder: string, isActive: boolean): Pick<Degraded, 'message' | 'hint'> {
  if (!isActive) {
    return {
      message: `The embedder "${embedder}" is not available; keywords alone decide the order.`,
      hint: `mortise plugin enable embedder-${embedder}`,
    };
  }
  const why = isCodedError(error) ? `${error.message.replace(/\.$/, '')} (${error.code})` : 'it failed';
  return {
    message: `The embedder "${embedder}" gave no vector: ${why}; keywords alone decide the order.`,
    hint: `mortise plugin inspect embedder-${embedder}`,
  };
}

function notesOf(answer: KeywordAnswer): { readonly notes?: readonly string[] } {
  const notes = [...answer.notes];
  if (answer.reason === 'not_indexed') notes.push('Nothing is indexed yet: run mortise kb refresh.');
  return notes.length > 0 ? { notes } : {};
}

function toHit({ contentHash, explanation, ...hit }: KeywordHit, rank: number, isExplained: boolean): Hit {
  return { rank, ...hit, ...(isExplained ? { explanation } : {}) };
}
