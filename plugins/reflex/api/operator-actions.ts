import type { GatePool } from 'mortise/contracts/gate';
import {
  type CallContext,
  type Command,
  type CommandFacts,
  MortiseError,
  platformPrincipal,
  type Route,
  wrongUsage,
} from 'mortise/sdk';
import type { RunningReflex } from '../start-reflex.js';

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

/** `mortise gate release <pool> <obs_id>`. */
export function releaseCommand(facts: CommandFacts, running: RunningReflex): Command {
  return {
    ...facts,
    run: async ({ args: [pool, obsId, ...more] }, ctx) => {
      if (pool === undefined || obsId === undefined || more.length > 0) return wrongUsage(facts);
      const { trace_id: _, ...data } = await release(running, pool, obsId, ctx);
      return { exitCode: 0, data, text: `Published again as ${data.obs_id}.` };
    },
  };
}

const poolNames: readonly string[] = ['sink', 'drop', 'tool'];

/**
 * Publishes an undelivered observation again, once.
 *
 * @throws MortiseError `not_found` (404), `already_released` (409), `backpressure` (503)
 */
async function release(running: RunningReflex, pool: string, obsId: string, ctx: CallContext) {
  const { gate, conversation, audit } = running;
  const taken = poolNames.includes(pool)
    ? await gate.take(pool as GatePool, obsId)
    : ({ ok: false, reason: 'not_found' } as const);
  if (!taken.ok) {
    throw taken.reason === 'not_found'
      ? new MortiseError('not_found', 'There is no such observation in that pool.', { status: 404 })
      : new MortiseError('already_released', 'The observation was already released.', { status: 409 });
  }
  const { observation, principal } = taken;
  const published = conversation.publish(
    {
      ...observation,
      parent_obs_id: observation.obs_id,
      metadata: { ...observation.metadata, released_from: observation.obs_id },
    },
    // For the principal that published it, not for the operator.
    { adapter: 'admin:release', principal: principal ?? platformPrincipal },
  );
  if (!published.ok) {
    await taken.undo();
    throw new MortiseError('backpressure', 'The server is overloaded; please try again.', {
      status: 503,
      retryAfterSeconds: 1,
    });
  }
  const { obs_id, trace_id } = published.observation;
  audit({
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

/** `DELETE /gate/cooldowns/:adapter`: ends the cooldown of an adapter early. */
export function clearCooldownRoute({ nociception, audit }: RunningReflex): Route {
  return {
    handle: ({ params }, ctx) => {
      const adapter = params.adapter ?? '';
      const cleared = nociception.endCooldown(adapter);
      audit({
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
