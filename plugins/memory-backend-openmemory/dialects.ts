import type { JsonObject, MemoryItem, MemorySearch } from 'mortise/sdk';
import { idOf, metadataOf, objectOf, tagsOf, userOf } from './memory-format.js';

type DialectName = 'search' | 'query';

/** One of the two HTTP interfaces: the form of its requests and responses. */
export interface Dialect {
  readonly name: DialectName;
  authorisation(apiKey: string): Readonly<Record<string, string>>;
  isHealthy(body: JsonObject): boolean;
  storeBody(item: MemoryItem): object;
  /** Reads the response to a store. */
  stored(body: JsonObject): { readonly id: string | undefined; readonly deduplicated: boolean };
  readonly searchPath: string;
  searchBody(search: MemorySearch): { readonly body: object; readonly unknownFilters: readonly string[] };
  /** The member of a search response that contains the hits. */
  readonly hits: string;
  /** Undefined for an interface that cannot list. */
  readonly listPath?: (limit: number, offset: number) => string;
}

/** `POST /memory/search`: memories belong to users. */
export const searchDialect: Dialect = {
  name: 'search',
  authorisation: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  isHealthy: (body) => body.status === 'ok',
  storeBody(item) {
    const user = userOf(item.space);
    return {
      content: item.content,
      ...(user === undefined ? {} : { user_id: user }),
      tags: tagsOf(item),
      metadata: metadataOf(item),
    };
  },
  stored(body) {
    const data = objectOf(body.data);
    return {
      id: idOf(data.id) ?? idOf(body.id) ?? idOf(body.memory_id),
      deduplicated: body.deduplicated === true || data.deduplicated === true,
    };
  },
  searchPath: '/memory/search',
  searchBody({ query, spaces, filters, limit }) {
    // The server filters by one user; hits of several spaces are filtered by their space afterwards.
    const user = spaces.length === 1 && spaces[0] !== undefined ? userOf(spaces[0]) : undefined;
    const body = { query, ...(user === undefined ? {} : { user_id: user }), limit, filters: clientFilters(filters) };
    return { body, unknownFilters: [] };
  },
  hits: 'results',
};

/** Filters by the names that clients use: the server accepts any, and ignores unknown ones. */
function clientFilters(filters: MemorySearch['filters']): JsonObject {
  const { kind, createdAfter, createdBefore, minScore, evidence, meta, actorUserId, other } = filters;
  return defined({
    kind: kind?.length === 1 ? kind[0] : kind,
    created_after: createdAfter,
    created_before: createdBefore,
    min_score: minScore,
    evidence,
    meta,
    actor_user_id: actorUserId,
    ...other,
  });
}

/** Limits of `POST /memory/query`. */
const maxQueryLength = 8_192;
const maxHits = 200;

/** `POST /memory/query`: memories can be listed. */
export const queryDialect: Dialect = {
  name: 'query',
  authorisation: (apiKey) => ({ authorization: `Bearer ${apiKey}`, 'x-api-key': apiKey }),
  isHealthy: (body) => body.ok === true,
  storeBody: (item) => ({ content: item.content, tags: tagsOf(item), metadata: metadataOf(item) }),
  stored: (body) => ({ id: idOf(body.id), deduplicated: body.deduplicated === true }),
  searchPath: '/memory/query',
  searchBody({ query, filters, limit }) {
    const unknownFilters = Object.keys(filters.other ?? {}).filter((name) => name !== 'sector');
    const body = { query: shortened(query), k: Math.min(limit, maxHits), filters: sectorFilters(filters) };
    return { body, unknownFilters };
  },
  hits: 'matches',
  listPath: (limit, offset) => `/memory/all?l=${limit}&u=${offset}`,
};

function sectorFilters({ minScore, createdAfter, createdBefore, other }: MemorySearch['filters']): JsonObject {
  return defined({
    sector: other?.sector,
    min_score: minScore,
    startTime: millis(createdAfter),
    endTime: millis(createdBefore),
  });
}

/** Epoch milliseconds; undefined for a text that is not a time. */
function millis(time: string | undefined): number | undefined {
  const at = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(at) ? undefined : at;
}

/** At most the length that the server accepts, without cutting a surrogate pair. */
function shortened(query: string): string {
  return query.length <= maxQueryLength ? query : query.slice(0, maxQueryLength).replace(/[\ud800-\udbff]$/, '');
}

function defined(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
