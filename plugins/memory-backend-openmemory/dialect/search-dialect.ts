import type { MemoryFilters } from 'mortise/sdk';
import { idOf, objectOf } from '../json.js';
import { metadataOf, tagsOf, userOf } from '../metadata.js';
import type { Dialect } from './dialect.js';

/** The filters under the names that clients use. Such a server takes any, and ignores what it does not know. */
function filtersOf({ kind, createdAfter, createdBefore, minScore, evidence, meta, actorUserId, other }: MemoryFilters) {
  const filters = {
    kind: kind?.length === 1 ? kind[0] : kind,
    created_after: createdAfter,
    created_before: createdBefore,
    min_score: minScore,
    evidence,
    meta,
    actor_user_id: actorUserId,
    ...other,
  };
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
}

/** `POST /memory/search`, with memories that belong to users. */
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
  storeAnswer(body) {
    const data = objectOf(body.data);
    return {
      id: idOf(data.id) ?? idOf(body.id) ?? idOf(body.memory_id),
      deduplicated: body.deduplicated === true || data.deduplicated === true,
    };
  },
  searchPath: '/memory/search',
  searchBody({ query, spaces, filters, limit }) {
    // Only one user can be asked about; more are asked without one, and sorted out by their spaces.
    const user = spaces.length === 1 && spaces[0] !== undefined ? userOf(spaces[0]) : undefined;
    const body = { query, ...(user === undefined ? {} : { user_id: user }), limit, filters: filtersOf(filters) };
    return { body, unknownFilters: [] };
  },
  hits: 'results',
};
