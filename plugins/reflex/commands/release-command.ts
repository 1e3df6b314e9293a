import { type Command, type CommandFacts, wrongUsage } from 'mortise/sdk';
import { release } from '../routes/release.js';
import type { RunningReflex } from '../start-reflex.js';

/** `mortise gate release <pool> <obs_id>`. */
export function releaseCommand(facts: CommandFacts, running: RunningReflex): Command {
  return {
    ...facts,
    run: async ({ args: [pool, obsId, ...more] }, ctx) => {
      if (pool === undefined || obsId === undefined || more.length > 0) return wrongUsage(facts);
      const { trace_id: _, ...data } = await release(running, pool, obsId, ctx);
      return { exitCode: 0, data, text: `Handed in again as ${data.obs_id}.` };
    },
  };
}
