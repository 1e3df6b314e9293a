import type { Route } from 'mortise/sdk';
import type { RunningReflex } from '../start-reflex.js';

/** `DELETE /gate/cooldowns/:adapter`: lets an adapter work again before its time. */
export function clearCooldownRoute({ nociception, note }: RunningReflex): Route {
  return {
    handle: ({ params }, ctx) => {
      const adapter = params.adapter ?? '';
      const cleared = nociception.end(adapter);
      note({
        action: 'cooldown_clear',
        accepted: cleared,
        actor: ctx.principal.id,
        newValue: adapter.slice(0, 256),
        traceId: ctx.trace.traceId,
        correlationId: ctx.correlationId,
      });
      return { body: { cleared } };
    },
  };
}
