import type { MemoryFilters } from 'mortise/sdk';
import { idOf } from '../json.js';
import { metadataOf, tagsOf } from '../metadata.js';
import type { Dialect } from './dialect.js';

const LONGEST_QUERY = 8_192;
const MOST_HITS = 200;

/** Epoch milliseconds; undefined for no time. */
function millis(time: string | undefined): number | undefined {
  const at = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(at) ? undefined : at;
}

function filtersOf({ minScore, createdAfter, createdBefore, other }: MemoryFilters) {
  const filters = {
    sector: other?.sector,
    min_score: minScore,
    startTime: millis(createdAfter),
    endTime: millis(createdBefore),
  };
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
}

/** Not more than the server takes, and never half a character. */
function shortened(query: string): string {
  return query.length <= LONGEST_QUERY ? query : query.slice(0, LONGEST_QUERY).replace(/[\ud800-\udbff]$/, '');
}

/** `POST /memory/query`, with memories that can be listed. */
export const queryDialect: Dialect = {
  name: 'query',
  authorisation: (apiKey) => ({ authorization: `Bearer ${apiKey}`, 'x-api-key': apiKey }),
  isHealthy: (body) => body.ok === true,
  storeBody: (item) => ({ content: item.content, tags: tagsOf(item), metadata: metadataOf(item) }),
  storeAnswer: (body) => ({ id: idOf(body.id), deduplicated: body.deduplicated === true }),
  searchPath: '/memory/query',
  searchBody({ query, filters, limit }) {
    const unknownFilters = Object.keys(filters.other ?? {}).filter((name) => name !== 'sector');
    const body = { query: shortened(query), k: Math.min(limit, MOST_HITS), filters: filtersOf(filters) };
    return { body, unknownFilters };
  },
  hits: 'matches',
  listPath: (limit, offset) => `/memory/all?l=${limit}&u=${offset}`,
};
