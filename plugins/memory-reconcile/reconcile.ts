import { checkBackend } from './backend/check-backend.js';
import { reconcileBooks } from './books/reconcile-books.js';
import type { ReconcileOptions } from './options.js';
import type { ReconcileParts } from './parts.js';
import { buildReport, type ReconcileReport } from './report/build-report.js';

export interface ReconcileCall {
  readonly correlationId: string;
  readonly signal: AbortSignal;
}

/** Holds outbox, audit trail and, where that is wanted, the backend against each other, and reports. */
export async function reconcile(
  options: ReconcileOptions,
  { correlationId, signal }: ReconcileCall,
  parts: ReconcileParts,
): Promise<ReconcileReport> {
  const { logbook } = parts;
  const startedAt = new Date().toISOString();
  const round = await reconcileBooks(options, parts, signal);
  const backend = options.checksBackend ? await checkBackend(parts, { repairs: options.repairsBackend, signal }) : null;
  const { count, oldestAgeSeconds } = await logbook.reconcile.pendingAudits(correlationId);
  const { invariants } = await logbook.reliability.figures();
  return buildReport({
    options,
    startedAt,
    correlationId,
    round,
    pendingAudits: { count, oldest_age_seconds: oldestAgeSeconds },
    invariants: [...invariants, ...(await logbook.reconcile.invariants())],
    backend,
  });
}
