import { type GatePool, MortiseError, type Route } from 'mortise/sdk';
import type { Pools } from '../pools.js';
import { readLimit } from './limit.js';

/** `GET /gate/pools/:pool`: the newest of what was not delivered. */
export function poolRoute(pools: Pools): Route {
  return {
    handle: ({ params, query }) => {
      const pool = readPool(params.pool);
      const limit = readLimit(query);
      return { body: { pool, total_seen: pools.total(pool), items: pools.recent(pool, limit) } };
    },
  };
}

function readPool(name: string | undefined): GatePool {
  if (name === 'sink' || name === 'drop' || name === 'tool') return name;
  throw new MortiseError('not_found', 'There is no pool of that name.', {
    status: 404,
    hint: 'The pools are sink, drop and tool.',
  });
}
