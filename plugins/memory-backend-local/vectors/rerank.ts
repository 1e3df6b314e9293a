import type { AuditService } from 'mortise/contracts/logbook';
import type { CallOptions, Database, Logger, MemoryBackendContext, MemoryHit, Points } from 'mortise/sdk';
import { blend, cosine } from './blend.js';
import { embedderFacts, embedTexts } from './embed-texts.js';
import { keepVectors, readVectors } from './stored-vectors.js';

export interface RerankParts {
  readonly database: Database;
  readonly points: Points;
  readonly audit: AuditService;
  readonly log: Logger;
}

/** Puts the hits of a query in the order of words and vectors together. What fails leaves them in the order of words. */
export type Rerank = (
  query: string,
  hits: readonly MemoryHit[],
  ctx: MemoryBackendContext,
) => Promise<readonly MemoryHit[]>;

const NO_VECTOR = new Float32Array();

/** How alike the hits are to the query, in order. Vectors that are not kept yet are made, and kept from now on. */
async function similaritiesOf(
  query: string,
  hits: readonly MemoryHit[],
  embedder: string,
  options: CallOptions,
  { database, points, log }: RerankParts,
): Promise<readonly number[]> {
  const facts = embedderFacts(points, embedder) ?? { version: '', dimensions: 0 };
  const known = await readVectors(
    database,
    embedder,
    facts,
    hits.map(({ id }) => id),
  );
  const unknown = hits.filter(({ id }) => !known.has(id));
  const texts = [query, ...unknown.map(({ content }) => content)];
  const [asked = NO_VECTOR, ...made] = await embedTexts(points, embedder, texts, options);
  const fresh = new Map(unknown.map(({ id }, index) => [id, made[index] ?? NO_VECTOR]));
  await keepVectors(database, embedder, facts, fresh).catch((error: unknown) => {
    log.warn({ err: error, embedder }, 'Vectors could not be kept; they are made again with the next query.');
  });
  return hits.map(({ id }) => cosine(asked, known.get(id) ?? fresh.get(id) ?? NO_VECTOR));
}

/** Half of the time that the search has: without an answer by then there is still one to give. */
function halfOf({ signal, timeoutMs, principal, requestId, correlationId, trace }: MemoryBackendContext): CallOptions {
  const limited = timeoutMs > 0 ? AbortSignal.any([signal, AbortSignal.timeout(timeoutMs / 2)]) : signal;
  return { signal: limited, principal, requestId, correlationId, trace };
}

/** Asks an embedder for each query. That it fails is audited once, until it has succeeded again. */
export function createRerank(embedder: string, parts: RerankParts): Rerank {
  let isFailing = false;

  const failed = async (error: unknown, ctx: MemoryBackendContext): Promise<void> => {
    parts.log.warn({ err: error, embedder }, 'Hits are ordered by their words alone: the embedder failed.');
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
    await parts.audit.write(entry).catch((unwritten: unknown) => {
      parts.log.warn({ err: unwritten }, 'The failure of the embedder could not be audited.');
    });
  };

  return async (query, hits, ctx) => {
    if (hits.length < 2) return hits;
    try {
      const similarities = await similaritiesOf(query, hits, embedder, halfOf(ctx), parts);
      isFailing = false;
      return blend(hits, similarities);
    } catch (error) {
      if (ctx.signal.aborted) throw error;
      await failed(error, ctx);
      return hits;
    }
  };
}
