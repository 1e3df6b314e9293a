import type { MemoryBackendContext, MemoryHit, MemorySearch } from 'mortise/sdk';
import { invalidResponse } from '../failure.js';
import { withinBudget } from '../http/budget.js';
import { idOf, objectOf } from '../json.js';
import { readMetadata, spaceOf } from '../metadata.js';
import type { OpenMemoryParts } from '../parts.js';

function scoreOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(value, 1) : 0;
}

/** Null for what is no hit. */
function hitOf(value: unknown): MemoryHit | null {
  const { id: rawId, content, score, metadata: rawMetadata, tags } = objectOf(value);
  const id = idOf(rawId);
  if (id === undefined || typeof content !== 'string') return null;
  const metadata = readMetadata(rawMetadata);
  const space = spaceOf(metadata, tags);
  return { id, content, score: scoreOf(score), ...(space && { space }), ...(metadata && { metadata }) };
}

/** A hit that does not say where it belongs is for the caller to sort out. */
function mayBeIn({ space }: MemoryHit, spaces: readonly string[]): boolean {
  return space === undefined || spaces.includes(space);
}

export interface SearchAnswer {
  readonly hits: readonly MemoryHit[];
  readonly unknownFilters: readonly string[];
}

/** One search, within a call that goes on. */
export function searchWithin(
  search: MemorySearch,
  signal: AbortSignal,
  { client, spoken, apiKey }: OpenMemoryParts,
): Promise<SearchAnswer> {
  return spoken.speak(signal, async (dialect) => {
    const asked = dialect.searchBody(search);
    const { body } = await client.send({
      method: 'POST',
      path: dialect.searchPath,
      headers: apiKey ? dialect.authorisation(apiKey) : {},
      body: asked.body,
      effect: 'reads',
      signal,
    });
    const answer = objectOf(body);
    const found = answer[dialect.hits];
    if (answer.success === false || !Array.isArray(found)) {
      throw invalidResponse(`it has no ${dialect.hits}`, 'reads');
    }
    const hits = found.map(hitOf).filter((hit) => hit !== null);
    const wanted = hits.filter((hit) => mayBeIn(hit, search.spaces));
    return { hits: wanted.slice(0, search.limit), unknownFilters: asked.unknownFilters };
  });
}

/** `POST /memory/search` or `/memory/query` @throws MortiseError with the details of a `BackendFailure`. */
export function search(wanted: MemorySearch, ctx: MemoryBackendContext, parts: OpenMemoryParts): Promise<SearchAnswer> {
  if (wanted.spaces.length === 0) return Promise.resolve({ hits: [], unknownFilters: [] });
  return withinBudget(ctx, (signal) => searchWithin(wanted, signal, parts));
}
