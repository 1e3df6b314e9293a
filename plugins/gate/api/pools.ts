import { type GatePool, readListLimit } from 'mortise/contracts/gate';
import { type Command, type CommandFacts, MortiseError, type Principal, type Route, wrongUsage } from 'mortise/sdk';
import { poolSize } from '../pools.js';
import type { RunningGate } from '../start-gate.js';

/** `GET /gate/pools/:pool`. */
export function poolRoute(running: RunningGate): Route {
  return {
    handle: ({ params, query }, { principal }) => ({
      body: readPool(running, params.pool, query.get('limit'), principal),
    }),
  };
}

/**
 * The newest entries of a pool: with the admin right all of them, otherwise those that the principal published and those
 * of sessions that it may see.
 *
 * @throws MortiseError `not_found` (404), `invalid_request` (400)
 */
function readPool(
  { pools, conversation }: RunningGate,
  name: string | undefined,
  limit: string | null,
  principal: Principal,
) {
  const pool = poolOf(name);
  const most = readListLimit(limit);
  if (principal.admin) return { pool, total_seen: pools.total(pool), items: pools.recent(pool, most) };
  const own = pools.recent(
    pool,
    poolSize,
    (item) =>
      item.principal?.id === principal.id || conversation()?.ownsSession(principal, item.decision.session_key) === true,
  );
  return { pool, total_seen: own.length, items: own.slice(0, most) };
}

function poolOf(name: string | undefined): GatePool {
  if (name === 'sink' || name === 'drop' || name === 'tool') return name;
  throw new MortiseError('not_found', 'There is no pool of that name.', {
    status: 404,
    hint: 'The pools are sink, drop and tool.',
  });
}

/** `mortise gate pools <pool>`. */
export function poolsCommand(facts: CommandFacts, running: RunningGate): Command {
  return {
    ...facts,
    isRead: () => true,
    run: async ({ args: [name, ...more], options: { limit } }, { principal }) => {
      if (name === undefined || more.length > 0) return wrongUsage(facts);
      const pool = readPool(running, name, typeof limit === 'string' ? limit : null, principal);
      if (pool.items.length === 0) return { exitCode: 0, data: pool, text: `Nothing is in the pool ${pool.pool}.` };
      const rows = pool.items.map(({ at, obs_id, reason, session_key, preview, released }) => [
        String(at),
        obs_id,
        `${reason}${released ? ' (released)' : ''}`,
        session_key,
        preview,
      ]);
      const table = { head: ['AT', 'OBSERVATION', 'REASON', 'SESSION', 'TEXT'], rows, whole: [1, 3] };
      return { exitCode: 0, data: pool, table, text: '' };
    },
  };
}
