import { type Command, type CommandFacts, wrongUsage } from 'mortise/sdk';
import type { Pools } from '../pools.js';
import { readPool } from '../routes/pools.js';

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
