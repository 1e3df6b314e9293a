import type { CallContext } from 'mortise/sdk';
import { databaseUnavailable, isDatabaseDown } from '../dependency-error.js';
import type { GatewayParts } from '../parts.js';
import { PrincipalRefused } from '../principal-refused.js';

const REASON = 'space_forbidden';
const EXPLANATION = 'this key may not use that space';

/** Audits that a principal asked for a space of others, and refuses. */
export async function refuseSpace(space: string, ctx: CallContext, parts: GatewayParts): Promise<never> {
  const audit = {
    action: 'reject',
    operation: 'gate',
    reason: REASON,
    status: 'failed',
    actorUserId: ctx.principal.actor ?? null,
    principal: ctx.principal.id,
    targetSpace: space,
    correlationId: ctx.correlationId,
    evidence: { source: 'gateway', correlation_id: ctx.correlationId, extra: { tool: 'memory_query' } },
  } as const;
  try {
    await parts.writer.submit({ kind: 'audit', audit });
  } catch (error) {
    if (isDatabaseDown(parts.database, error)) throw databaseUnavailable(error);
    throw error;
  }
  throw new PrincipalRefused('SPACE_FORBIDDEN', {
    reason: REASON,
    explanation: EXPLANATION,
    space,
    result: {
      ok: false,
      action: 'reject',
      results: [],
      total: 0,
      spaces_searched: [],
      message: `Rejected by policy: ${EXPLANATION} (${REASON}).`,
      degraded: false,
      correlation_id: ctx.correlationId,
      reason: REASON,
    },
  });
}
