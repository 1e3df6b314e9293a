import { hash } from 'node:crypto';
import { type CallOptions, MortiseError, newUlid, type Points } from 'mortise/sdk';
import type { ChunkDetails, EvidenceAnswer, Hit, KbStats, RefreshReport, SearchAnswer } from '../contract/kb.js';
import { fromWireError, kbError } from '../errors.js';
import type { LinesQuery, SourcesQuery } from '../index/read-index.js';
import type { RepairReport } from '../index/repair-index.js';
import type { KeywordAnswer } from '../search/index-search.js';
import type { Operations } from '../threads/operations.js';
import { bindEmbedder } from './embedding.js';
import { type EvaluateFolderOptions, evaluateFolder } from './evaluate-folder.js';
import { createFillIndex } from './fill-index.js';
import { createJobs, type Job, type Jobs } from './jobs.js';
import { createRanking, type RankedQuery } from './rank-query.js';
import { readRefresh, readSearch } from './read-request.js';
import { createReranker, type RerankDeps } from './rerank.js';
import { type KbSettings, type Repo, repoOfFolder } from './settings.js';
import { createCounting } from './week-counts.js';

interface KbDeps extends RerankDeps {
  readonly points: Points;
  readonly auditSearches: boolean;
  countSearch(isEmpty: boolean, ms: number): void;
}

/** The operations that routes, commands and tools use. */
export interface KbService {
  readonly jobs: Jobs;
  readonly settings: KbSettings;
  /** The repo by name or folder; the first configured one by default. @throws MortiseError `no_repos`, `repo_not_found` */
  repoOf(choice: RepoChoice): Repo;
  search(body: unknown, choice: RepoChoice, options?: CallOptions): Promise<SearchAnswer>;
  /** False when the index was lost or has never been built. */
  isIndexed(repo: string): Promise<boolean>;
  /** The folders of a repo that are scanned, relative to its root. @throws MortiseError `repo_unavailable` */
  foldersOf(repo: Repo): Promise<readonly string[]>;
  chunk(
    chunkId: string,
    more?: { readonly query?: string | undefined; readonly terms?: boolean },
    options?: CallOptions,
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
  /** @param choice whose files `deep` compares; those of all repos when absent. */
  repair(options: { readonly check: boolean; readonly deep: boolean }, choice?: RepoChoice): Job;
  embed(
    kind: 'embed_build' | 'embed_refresh',
    choice: RepoChoice | undefined,
    batch: number | undefined,
    options?: CallOptions,
  ): Job;
  evaluateFolder(folder: string, how: EvaluateFolderOptions, options?: CallOptions): Job;
  close(): Promise<void>;
}

/** A repo by its name, or any folder. */
export interface RepoChoice {
  readonly repo?: string | undefined;
  readonly root?: string | undefined;
}

export function createKnowledgeBase(deps: KbDeps): KbService {
  const { settings, reader, worker, log } = deps;
  const jobs = createJobs();
  const embedder = bindEmbedder(deps.points, settings.rerank.embedder);
  const reranker = createReranker(deps, embedder);
  const rank = createRanking(deps, reranker);
  const fill = createFillIndex(deps, embedder);
  const counting = createCounting(deps);

  const repoOf = ({ repo, root }: RepoChoice): Repo => {
    if (root !== undefined) return repoOfFolder(root);
    if (settings.repos.length === 0) throw kbError('no_repos');
    const found = repo === undefined ? settings.repos[0] : settings.repos.find(({ name }) => name === repo);
    if (found === undefined) {
      throw kbError('repo_not_found', { repo: repo ?? '', known: settings.repos.map(({ name }) => name) });
    }
    return found;
  };
  const reposOf = (choice: RepoChoice): readonly string[] =>
    choice.repo === '*' && settings.repos.length > 0 ? settings.repos.map(({ name }) => name) : [repoOf(choice).name];

  const search: KbService['search'] = async (body, choice, options = {}) => {
    const begun = performance.now();
    const read = readSearch(body, settings);
    const repos = reposOf(choice);
    let ranked: RankedQuery;
    try {
      ranked = await rank(read, { repos }, options);
    } catch (error) {
      counting.note('errors');
      throw error;
    }
    const { answer } = ranked;
    const results = ranked.hits.map((one) => toHit(one, read.explain));
    if (results.length === 0) counting.note('empty');
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
      ...(ranked.degraded ? { degraded: ranked.degraded } : {}),
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

  /** A failed refresh is an error of the knowledge base, as a failed search is. */
  const counted = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'cancelled') counting.note('errors');
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
    isIndexed: (repo) => reader.call('isIndexed', [repo]).catch(() => false),
    foldersOf: (repo) => worker.call('folders', [settings.repoConfig(repo)]),
    chunk: async (chunkId, { query, terms = false } = {}, options = {}) => {
      const details = await reader.call('chunk', [{ chunkId, terms }]);
      if (query === undefined) return details;
      const { hits, answer } = await rank(readSearch({ query }, settings), { repos: [details.repo], chunkId }, options);
      const found = hits.find(({ hit }) => hit.chunk_id === chunkId);
      const { explanation, rank: place } = found
        ? { explanation: found.hit.explanation, rank: found.rank }
        : (answer.explained ?? { explanation: null, rank: null });
      return { ...details, explanation, rank: place };
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
      const { errors, empty } = await counting.read();
      const counts = { errors_7d: errors, empty_answers_7d: empty };
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
      return jobs.start('refresh', repo.name, (ctx) => counted(fill.refresh(repo, read, ctx, options)));
    },
    reindex: (choice, options = {}) => {
      const repo = repoOf(choice);
      assertIdle(repo.name);
      return jobs.start('reindex', repo.name, async (ctx) => {
        await worker.call('drop', [repo.name]);
        return counted(fill.refresh(repo, { mode: 'full', paths: undefined }, ctx, options));
      });
    },
    forget: async (repo) => {
      assertIdle(repo);
      await worker.call('drop', [repo]);
    },
    repair: (options, choice) => {
      const chosen = choice && repoOf(choice);
      return jobs.start('repair', null, async (ctx) => {
        const report = await worker.call('repair', [{ ...options, ...(chosen ? { repo: chosen.name } : {}) }], {
          signal: ctx.signal,
          onProgress: ctx.progress,
        });
        const reports: RefreshReport[] = [];
        if (report.needs_refresh && !options.check) {
          const configured = settings.repos.filter(({ name }) => name !== chosen?.name);
          for (const repo of chosen ? [chosen, ...configured] : configured) {
            reports.push(await fill.readFiles(repo, { mode: 'incremental', paths: undefined }, ctx));
          }
        }
        return { ...report, refreshed: reports } satisfies RepairReport & { refreshed: readonly RefreshReport[] };
      });
    },
    embed: (kind, choice, batch, options = {}) => {
      const repo = choice === undefined ? undefined : repoOf(choice).name;
      return jobs.start(kind, repo ?? null, async (ctx) => {
        ctx.release();
        const report = await fill.buildVectors(repo, batch ?? embedder.batch, ctx, options);
        const id = embedder.id();
        const removed =
          kind === 'embed_refresh' && id !== undefined ? await worker.call('forgetOtherVectors', [id]) : 0;
        return { ...report, removed };
      });
    },
    evaluateFolder: (folder, how, options = {}) =>
      jobs.start('evaluate', null, (ctx) => evaluateFolder({ settings, worker, embedder }, folder, how, ctx, options)),
    close: async () => {
      await jobs.close();
      await Promise.all([reranker.flush(), counting.close()]);
      await Promise.all([reader.close(), worker.close()]);
    },
  };
}

function notesOf(answer: KeywordAnswer): { readonly notes?: readonly string[] } {
  const notes = [...answer.notes];
  if (answer.reason === 'not_indexed') notes.push('Nothing is indexed yet: run mortise kb refresh.');
  return notes.length > 0 ? { notes } : {};
}

function toHit(
  { hit: { contentHash, explanation, ...hit }, rank }: RankedQuery['hits'][number],
  isExplained: boolean,
): Hit {
  return { rank, ...hit, ...(isExplained ? { explanation } : {}) };
}
