import type { GatePool } from 'mortise/contracts/gate';
import { type CallContext, MortiseError, type Route } from 'mortise/sdk';
import type { RunningReflex } from '../start-reflex.js';

const poolNames: readonly string[] = ['sink', 'drop', 'tool'];

/** `POST /gate/pools/:pool/:obs_id/release`. */
export function releaseRoute(running: RunningReflex): Route {
  return {
    handle: async ({ params: { pool = '', obs_id: obsId = '' } }, ctx) => {
      const { trace_id, ...body } = await release(running, pool, obsId, ctx);
      ctx.setHeader('X-Trace-Id', trace_id);
      return { status: 202, body };
    },
  };
}

/**
 * Hands in once more, and only once, what was not delivered.
 *
 * @throws MortiseError `not_found` (404), `already_released` (409), `backpressure` (503)
 */
export async function release(running: RunningReflex, pool: string, obsId: string, ctx: CallContext) {
  const { gate, conversation, note } = running;
  const taken = poolNames.includes(pool)
    ? await gate.take(pool as GatePool, obsId)
    : ({ ok: false, reason: 'not_found' } as const);
  if (!taken.ok) {
    throw taken.reason === 'not_found'
      ? new MortiseError('not_found', 'There is no such observation in that pool.', { status: 404 })
      : new MortiseError('already_released', 'The observation has been released before.', { status: 409 });
  }
  const { observation } = taken;
  const published = conversation.publish(
    {
      ...observation,
      parent_obs_id: observation.obs_id,
      metadata: { ...observation.metadata, released_from: observation.obs_id },
    },
    { adapter: 'admin:release' },
  );
  if (!published.ok) {
    await taken.undo();
    throw new MortiseError('backpressure', 'The server is overloaded; please try again.', {
      status: 503,
      retryAfterSeconds: 1,
    });
  }
  const { obs_id, trace_id } = published.observation;
  note({
    action: 'release',
    accepted: true,
    actor: ctx.principal.id,
    originSessionKey: observation.session_key ?? null,
    newValue: pool,
    obsId: obs_id,
    traceId: trace_id,
    correlationId: ctx.correlationId,
  });
  return { obs_id, released_from: observation.obs_id, trace_id };
}
