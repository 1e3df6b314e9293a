import type { CallOptions } from 'mortise/sdk';
import { kbError } from '../errors.js';
import { type AnsweredSet, type Evaluation, evaluationOf } from '../evaluate/evaluate-set.js';
import type { Thread } from '../threads/thread.js';
import type { BoundEmbedder } from './embedding.js';
import type { JobContext } from './jobs.js';
import { rerankScores, vectorScore } from './rerank-hits.js';
import type { KbSettings } from './settings.js';

export interface EvaluateFolderOptions {
  readonly cutOffs: readonly number[];
  /** Reorder the answers by vectors, as a search does. */
  readonly rerank: boolean;
}

/**
 * Indexes the documents of a folder apart from the index, runs its queries, and measures the answers.
 *
 * @throws MortiseError `invalid_evaluation_set`, `embedder_unavailable`, what the embedder fails with
 */
export async function evaluateFolder(
  {
    settings,
    worker,
    embedder,
  }: { readonly settings: KbSettings; readonly worker: Thread; readonly embedder: BoundEmbedder },
  folder: string,
  { cutOffs, rerank }: EvaluateFolderOptions,
  ctx: JobContext,
  options: CallOptions,
): Promise<Evaluation> {
  const id = rerank ? embedder.id() : undefined;
  if (rerank && id === undefined) throw kbError('embedder_unavailable', { embedder: settings.rerank.embedder });
  const anyRepo = settings.repos[0] ?? { name: 'default', root: folder };
  const { limits } = settings.repoConfig(anyRepo);
  const { alpha, candidateK } = settings.rerank;
  const depth = Math.min(100, Math.max(10, ...cutOffs, rerank ? candidateK : 0));
  const plain = { ...settings.search, docTypes: [], recency: { ...settings.search.recency, enabled: false } };
  const answered = await worker.call('evaluate', [folder, { limits, search: plain, depth, withContents: rerank }], {
    onProgress: ctx.progress,
    signal: ctx.signal,
  });
  if (id === undefined) {
    const answers = answered.answers.map(({ hits, judged, ms }) => ({
      ranked: hits.map(({ document }) => document),
      judged: new Map(judged),
      ms,
    }));
    return evaluationOf(answered, answers, cutOffs);
  }
  const answers = await rerankAll(answered, embedder, alpha, ctx, options);
  return { ...evaluationOf(answered, answers, cutOffs), rerank: { embedder: id.embedder, model: id.model, alpha } };
}

/** Every candidate has a vector here, so none keeps its keyword rank. */
async function rerankAll(
  { answers, contents }: AnsweredSet,
  embedder: BoundEmbedder,
  alpha: number,
  ctx: JobContext,
  options: CallOptions,
): Promise<
  readonly { readonly ranked: readonly string[]; readonly judged: ReadonlyMap<string, number>; readonly ms: number }[]
> {
  const own = { ...options, signal: ctx.signal };
  const vectors = new Map<string, Float32Array>();
  for (let at = 0; at < contents.length; at += embedder.batch) {
    ctx.signal.throwIfAborted();
    ctx.progress('embed', at, contents.length);
    const batch = contents.slice(at, at + embedder.batch);
    const made = await embedder.embed(
      batch.map(([, content]) => content),
      'document',
      own,
    );
    for (const [index, [hash]] of batch.entries()) vectors.set(hash, made[index] as Float32Array);
  }
  const ranked = [];
  for (const [at, { query, judged, hits, ms }] of answers.entries()) {
    if (at % 50 === 0) ctx.progress('rerank', at, answers.length);
    const begun = performance.now();
    const [vector] = await embedder.embed([query], 'query', own);
    const scores = hits.map(({ contentHash }) => {
      const content = vectors.get(contentHash);
      return content && vector ? vectorScore(content, vector) : null;
    });
    const ordered = rerankScores(
      hits.map(({ score }) => score),
      scores,
      alpha,
    );
    ranked.push({
      ranked: ordered.flatMap(({ from }) => hits[from]?.document ?? []),
      judged: new Map(judged),
      ms: ms + performance.now() - begun,
    });
  }
  return ranked;
}
