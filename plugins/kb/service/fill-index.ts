import { type CallOptions, type Logger, serialQueue } from 'mortise/sdk';
import type { RefreshReport } from '../contract/kb.js';
import { kbError } from '../errors.js';
import { SlowFile, type Thread } from '../threads/thread.js';
import type { BoundEmbedder } from './embedding.js';
import type { JobContext } from './jobs.js';
import type { ReadRefresh } from './read-request.js';
import type { KbSettings, Repo } from './settings.js';

export interface EmbedReport {
  readonly total: number;
  readonly built: number;
  readonly skipped: number;
  readonly errors: number;
}

interface FillDeps {
  readonly settings: KbSettings;
  readonly worker: Thread;
  readonly log: Logger;
}

/** The long-running work that indexes a repo. */
interface FillIndex {
  /** Reads the files of a repo without embedding them. */
  readFiles(repo: Repo, request: ReadRefresh, ctx: JobContext): Promise<RefreshReport>;
  /** Embeds contents without a vector. @throws MortiseError `embedder_unavailable` */
  buildVectors(repo: string | undefined, batch: number, ctx: JobContext, options: CallOptions): Promise<EmbedReport>;
  /** Reads the files, then embeds new contents where vectors are in use. */
  refresh(repo: Repo, request: ReadRefresh, ctx: JobContext, options: CallOptions): Promise<RefreshReport>;
}

export function createFillIndex({ settings, worker, log }: FillDeps, embedder: BoundEmbedder): FillIndex {
  // Runs again without a file that took too long.
  const readFiles: FillIndex['readFiles'] = async (repo, request, ctx) => {
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

  // In batches; one that fails is counted and skipped.
  const embed: FillIndex['buildVectors'] = async (repo, batch, ctx, options) => {
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

  /** One after the other, so that no content is embedded twice. */
  const serially = serialQueue();
  const buildVectors: FillIndex['buildVectors'] = (...args) => serially(() => embed(...args));

  const refresh: FillIndex['refresh'] = async (repo, request, ctx, options) => {
    const report = await readFiles(repo, request, ctx);
    const id = embedder.id();
    const isWanted =
      settings.rerank.enabled || (id !== undefined && (await worker.call('stats', [[], id])).embeddings.total > 0);
    if (!isWanted || id === undefined) return report;
    ctx.release(report);
    return { ...report, embeddings: await buildVectors(repo.name, embedder.batch, ctx, options) };
  };

  return { readFiles, buildVectors, refresh };
}
