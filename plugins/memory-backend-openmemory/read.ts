import { type BackendMemory, isJsonObject, type MemoryHit, type MemorySearch, MortiseError } from 'mortise/sdk';
import { type Headers, tooLarge } from './client.js';
import type { Dialect } from './dialects.js';
import { apiError, invalidResponse } from './failure.js';
import { idOf, memoryOf, objectOf, readMetadata, spaceOf } from './memory-format.js';
import type { OpenMemoryServer } from './server.js';

interface SearchResult {
  readonly hits: readonly MemoryHit[];
  readonly unknownFilters: readonly string[];
}

/** `POST /memory/search` or `/memory/query` @throws MortiseError with the details of a `BackendFailure`. */
export async function search(
  wanted: MemorySearch,
  signal: AbortSignal,
  { client, inDialect }: OpenMemoryServer,
): Promise<SearchResult> {
  if (wanted.spaces.length === 0) return { hits: [], unknownFilters: [] };
  return inDialect(signal, async (dialect, headers) => {
    const { body, unknownFilters } = dialect.searchBody(wanted);
    const request = { method: 'POST', path: dialect.searchPath, headers, body, effect: 'reads', signal } as const;
    const response = objectOf((await client.send(request)).body);
    const found = response[dialect.hits];
    if (response.success === false || !Array.isArray(found)) throw invalidResponse(`no ${dialect.hits}`, 'reads');
    const hits = found.map(hitOf).filter((hit) => hit !== null);
    // The caller decides about hits without a space.
    const inSpaces = hits.filter(({ space }) => space === undefined || wanted.spaces.includes(space));
    return { hits: inSpaces.slice(0, wanted.limit), unknownFilters };
  });
}

/** Null for a value that is not a hit. */
function hitOf(value: unknown): MemoryHit | null {
  const { id: rawId, content, score, metadata: rawMetadata, tags } = objectOf(value);
  const id = idOf(rawId);
  if (id === undefined || typeof content !== 'string') return null;
  const metadata = readMetadata(rawMetadata);
  const space = spaceOf(metadata, tags);
  return { id, content, score: scoreOf(score), ...(space && { space }), ...(metadata && { metadata }) };
}

function scoreOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(value, 1) : 0;
}

/**
 * `GET /memory/<id>`; null when the server does not know the id. Only a 404 with a JSON object counts: any other comes
 * from a proxy.
 * @throws MortiseError with the details of a `BackendFailure`.
 */
export function get(
  id: string,
  signal: AbortSignal,
  { client, inDialect }: OpenMemoryServer,
): Promise<BackendMemory | null> {
  const path = `/memory/${encodeURIComponent(id)}`;
  return inDialect(signal, async (_dialect, headers) => {
    const { status, body } = await client.send({ method: 'GET', path, headers, effect: 'reads', signal }, [404]);
    if (status === 404) {
      if (isJsonObject(body)) return null;
      throw apiError(404, 'reads');
    }
    const memory = memoryOf(body) ?? memoryOf(objectOf(body).data);
    if (memory === null) throw invalidResponse('no memory', 'reads');
    return memory;
  });
}

export interface MemoryPage {
  readonly items: readonly BackendMemory[];
  /** Null after the last page. */
  readonly next: string | null;
}

const maxPage = 500;
const cursorForm = /^\d{1,15}$/;

/**
 * `GET /memory/all`. A page that exceeds the size limit is requested again with half the size.
 * @throws MortiseError `backend_list_unsupported`, or with the details of a `BackendFailure`.
 */
export function list(
  cursor: string | null,
  limit: number,
  signal: AbortSignal,
  server: OpenMemoryServer,
): Promise<MemoryPage> {
  const offset = cursor !== null && cursorForm.test(cursor) ? Number(cursor) : 0;
  return server.inDialect(signal, async (dialect, headers) => {
    for (let size = Math.min(Math.max(limit, 1), maxPage); ; size = Math.ceil(size / 2)) {
      try {
        const items = await requestPage(dialect, headers, size, offset, signal, server);
        // A server may return fewer than requested: only an empty page is the last one.
        const next = items.length === 0 ? null : String(offset + items.length);
        return { items: items.map(memoryOf).filter((item) => item !== null), next };
      } catch (error) {
        if (size === 1 || !isTooLarge(error)) throw error;
      }
    }
  });
}

async function requestPage(
  dialect: Dialect,
  headers: Headers,
  limit: number,
  offset: number,
  signal: AbortSignal,
  { client }: OpenMemoryServer,
): Promise<readonly unknown[]> {
  if (dialect.listPath === undefined) {
    throw new MortiseError('backend_list_unsupported', 'This OpenMemory server cannot list its memories.', {
      status: 501,
    });
  }
  const path = dialect.listPath(limit, offset);
  const { body } = await client.send({ method: 'GET', path, headers, effect: 'reads', signal });
  const { items } = objectOf(body);
  if (!Array.isArray(items)) throw invalidResponse('no items', 'reads');
  return items;
}

function isTooLarge(error: unknown): boolean {
  return error instanceof MortiseError && error.message.endsWith(tooLarge);
}
