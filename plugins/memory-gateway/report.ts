import type { Invariant } from 'mortise/contracts/logbook';
import type { Route } from 'mortise/sdk';
import { databaseFailure } from './errors.js';
import type { Gateway } from './gateway.js';
import { answerError, type ErrorShape } from './rest/answer-error.js';

function violations(invariants: readonly Invariant[]): string | null {
  const broken = invariants.filter(({ ok }) => !ok).map(({ id, left, right }) => `${id} (${left} against ${right})`);
  return broken.length === 0 ? null : `Violated invariants: ${broken.join(', ')}.`;
}

/**
 * The reliability report: figures of the outbox, the audit trail, evidence and memories from one snapshot.
 * @throws MortiseError `LOGBOOK_DB_UNAVAILABLE`, `LOGBOOK_DB_CHECK_FAILED`.
 */
export async function reliabilityReport(correlationId: string, { logbook, backend, database }: Gateway) {
  try {
    const figures = await logbook.reliability.figures();
    return {
      ok: true,
      outbox_stats: figures.outbox_stats,
      audit_stats: figures.audit_stats,
      v2_evidence_stats: figures.v2_evidence_stats,
      content_intercept_stats: figures.content_intercept_stats,
      generated_at: figures.generated_at,
      message: violations(figures.invariants),
      correlation_id: correlationId,
      memory_stats: figures.memory_stats,
      backend: backend.status(),
      invariants: figures.invariants,
    };
  } catch (error) {
    throw databaseFailure(database, error);
  }
}

const errorShape: ErrorShape = {
  unavailable: (error, correlationId) => ({
    ok: false,
    outbox_stats: {},
    audit_stats: {},
    v2_evidence_stats: {},
    content_intercept_stats: {},
    generated_at: '',
    message: error.message,
    correlation_id: correlationId,
    reason: error.code,
  }),
};

/** `GET /reliability/report` */
export function reportRoute(gateway: Gateway): Route {
  return {
    async handle(_request, ctx) {
      try {
        gateway.http.admitToolCall('reliability_report', ctx);
        return { body: await reliabilityReport(ctx.correlationId, gateway) };
      } catch (error) {
        return answerError(error, ctx.correlationId, errorShape);
      }
    },
  };
}
