import type { Invariant } from 'mortise/contracts/logbook';
import { databaseFailure } from './dependency-error.js';
import type { GatewayParts } from './parts.js';

function violations(invariants: readonly Invariant[]): string | null {
  const broken = invariants.filter(({ ok }) => !ok).map(({ id, left, right }) => `${id} (${left} against ${right})`);
  return broken.length === 0 ? null : `Violated invariants: ${broken.join(', ')}.`;
}

/**
 * How reliable the memories are, in figures of one snapshot.
 * @throws MortiseError `LOGBOOK_DB_UNAVAILABLE`, `LOGBOOK_DB_CHECK_FAILED`.
 */
export async function reliabilityReport(correlationId: string, parts: GatewayParts) {
  try {
    const figures = await parts.logbook.reliability.figures();
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
      backend: parts.backend.status(),
      invariants: figures.invariants,
    };
  } catch (error) {
    throw databaseFailure(parts.database, error);
  }
}
