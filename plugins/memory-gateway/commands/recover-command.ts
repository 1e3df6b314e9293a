import type { Command, CommandFacts } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { recoverWrites } from '../recovery/recover-writes.js';

/** `mortise memory recover`: exit 1 when a write could not be settled. */
export function recoverCommand(facts: CommandFacts, parts: GatewayParts): Command {
  return {
    ...facts,
    async run(_input, { signal }) {
      const done = await recoverWrites(parts, signal);
      const text = `Settled ${done.stored + done.queued} (stored: ${done.stored}, queued: ${done.queued}, unresolved: ${done.unresolved}).`;
      return { exitCode: done.unresolved === 0 ? 0 : 1, data: done, text };
    },
  };
}
