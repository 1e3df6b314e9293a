import type { GatePool } from 'mortise/contracts/gate';
import { MortiseError, type Route } from 'mortise/sdk';
import type { Pools } from '../pools.js';
import { readLimit } from './limit.js';

/** `GET /gate/pools/:pool`. */
export function poolRoute(pools: Pools): Route {
  return { handle: ({ params, query }) => ({ body: readPool(pools, params.pool, query.get('limit')) }) };
}

/** The newest of what was not delivered. @throws MortiseError `not_found` (404), `invalid_request` (400) */
export function readPool(pools: Pools, name: string | undefined, limit: string | null) {
  const pool = poolOf(name);
  return { pool, total_seen: pools.total(pool), items: pools.recent(pool, readLimit(limit)) };
}

function poolOf(name: string | undefined): GatePool {
  if (name === 'sink' || name === 'drop' || name === 'tool') return name;
  throw new MortiseError('not_found', 'There is no pool of that name.', {
    status: 404,
    hint: 'The pools are sink, drop and tool.',
  });
}
