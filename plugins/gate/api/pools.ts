import { type GatePool, readListLimit } from 'mortise/contracts/gate';
import { type Command, type CommandFacts, MortiseError, type Route, wrongUsage } from 'mortise/sdk';
import type { Pools } from '../pools.js';

/** `GET /gate/pools/:pool`. */
export function poolRoute(pools: Pools): Route {
  return { handle: ({ params, query }) => ({ body: readPool(pools, params.pool, query.get('limit')) }) };
}

/** The newest entries of a pool. @throws MortiseError `not_found` (404), `invalid_request` (400) */
function readPool(pools: Pools, name: string | undefined, limit: string | null) {
  const pool = poolOf(name);
  return { pool, total_seen: pools.total(pool), items: pools.recent(pool, readListLimit(limit)) };
}

function poolOf(name: string | undefined): GatePool {
  if (name === 'sink' || name === 'drop' || name === 'tool') return name;
  throw new MortiseError('not_found', 'There is no pool of that name.', {
    status: 404,
    hint: 'The pools are sink, drop and tool.',
  });
}

/** `mortise gate pools <pool>`. */
export function poolsCommand(facts: CommandFacts, pools: Pools): Command {
  return {
    ...facts,
    isRead: () => true,
    run: async ({ args: [name, ...more], options: { limit } }) => {
      if (name === undefined || more.length > 0) return wrongUsage(facts);
      const pool = readPool(pools, name, typeof limit === 'string' ? limit : null);
      const lines = pool.items.map(
        ({ at, obs_id, reason, session_key, preview, released }) =>
          `${at}  ${obs_id}  ${reason}${released ? ' (released)' : ''}  ${session_key}  ${preview}`,
      );
      const text = lines.length === 0 ? `Nothing is in the pool ${pool.pool}.` : lines.join('\n');
      return { exitCode: 0, data: pool, text };
    },
  };
}
