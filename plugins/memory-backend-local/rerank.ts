import type { AuditService } from 'mortise/contracts/logbook';
import { cosine, type EmbedderFacts, unitVectors } from 'mortise/contracts/text-analysis';
import type { CallOptions, Database, Logger, MemoryBackendContext, MemoryHit, Points } from 'mortise/sdk';
import { blend, readVectors, storeVectors } from './vectors.js';

interface RerankDeps {
  readonly database: Database;
  readonly points: Points;
  readonly audit: AuditService;
  readonly log: Logger;
}

/** Orders the hits of a query by words and vectors. After a failure they remain in the order of words. */
export type Rerank = (
  query: string,
  hits: readonly MemoryHit[],
  ctx: MemoryBackendContext,
) => Promise<readonly MemoryHit[]>;

const noVector = new Float32Array();

/** Similarity of each hit to the query, in order. Missing vectors are computed and stored. */
async function similaritiesOf(
  query: string,
  hits: readonly MemoryHit[],
  embedder: string,
  options: CallOptions,
  { database, points, log }: RerankDeps,
): Promise<readonly number[]> {
  const facts = embedderFacts(points, embedder) ?? { model: '', dimensions: 0 };
  const known = await readVectors(
    database,
    embedder,
    facts,
    hits.map(({ id }) => id),
  );
  const unknown = hits.filter(({ id }) => !known.has(id));
  const texts = [query, ...unknown.map(({ content }) => content)];
  const [queryVector = noVector, ...computed] = await embedTexts(points, embedder, texts, options);
  const fresh = new Map(unknown.map(({ id }, index) => [id, computed[index] ?? noVector]));
  await storeVectors(database, embedder, facts, fresh).catch((error: unknown) => {
    log.warn({ err: error, embedder }, 'Vectors could not be stored; the next query computes them again.');
  });
  return hits.map(({ id }) => cosine(queryVector, known.get(id) ?? fresh.get(id) ?? noVector));
}

/** Half of the time limit of the search, so that a result without vectors is still possible. */
function halfTimeLimit({
  signal,
  timeoutMs,
  principal,
  requestId,
  correlationId,
  trace,
}: MemoryBackendContext): CallOptions {
  const limited = timeoutMs > 0 ? AbortSignal.any([signal, AbortSignal.timeout(timeoutMs / 2)]) : signal;
  return { signal: limited, principal, requestId, correlationId, trace };
}

/** Calls an embedder for each query. A failure is audited once, until the next success. */
export function createRerank(embedder: string, deps: RerankDeps): Rerank {
  let isFailing = false;

  const failed = async (error: unknown, ctx: MemoryBackendContext): Promise<void> => {
    deps.log.warn({ err: error, embedder }, 'Hits are ordered by their words only: the embedder failed.');
    if (isFailing) return;
    isFailing = true;
    const entry = {
      action: 'redirect',
      operation: 'memory-backend-local:search',
      reason: 'memory-backend-local:embedder_unavailable',
      principal: ctx.principal.id,
      correlationId: ctx.correlationId,
      evidence: { source: 'gateway', extra: { embedder } },
    } as const;
    await deps.audit.write(entry).catch((auditError: unknown) => {
      deps.log.warn({ err: auditError }, 'The failure of the embedder could not be audited.');
    });
  };

  return async (query, hits, ctx) => {
    if (hits.length < 2) return hits;
    try {
      const similarities = await similaritiesOf(query, hits, embedder, halfTimeLimit(ctx), deps);
      isFailing = false;
      return blend(hits, similarities);
    } catch (error) {
      if (ctx.signal.aborted) throw error;
      await failed(error, ctx);
      return hits;
    }
  };
}

/** Maximum number of texts in one call. */
const batchSize = 32;

/** Undefined while the embedder is not active. */
function embedderFacts(points: Points, key: string): EmbedderFacts | undefined {
  return points.list('embedder').find((one) => one.key === key && one.active)?.facts;
}

/** One vector for each text, in order. @throws MortiseError `embedder_invalid`, or what the embedder throws. */
async function embedTexts(
  points: Points,
  key: string,
  texts: readonly string[],
  options: CallOptions,
): Promise<readonly Float32Array[]> {
  const dimensions = embedderFacts(points, key)?.dimensions ?? 0;
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += batchSize) {
    const request = { texts: texts.slice(at, at + batchSize), kind: 'document' } as const;
    const made = await points.call('embedder', key, (embedder, ctx) => embedder.embed(request, ctx), options);
    vectors.push(...unitVectors(made, request.texts.length, dimensions));
  }
  return vectors;
}
