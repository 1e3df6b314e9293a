import type { ExaminedRow } from 'mortise/contracts/logbook';
import type { Transaction } from 'mortise/sdk';
import type { ReconcileDeps, ReconcileOptions } from '../options.js';
import type { Detail, Round } from '../report.js';
import { reconcileEntry } from './repair-settled.js';

const REASON = 'outbox_stale';

function staleAudit(row: ExaminedRow, { staleThresholdSeconds, reschedules }: ReconcileOptions) {
  const lease = { original_locked_by: row.lockedBy, original_locked_at: row.lockedAt };
  return reconcileEntry(row, {
    action: 'redirect',
    reason: REASON,
    evidence: {
      ...lease,
      extra: {
        stale_threshold_seconds: staleThresholdSeconds,
        will_reschedule: reschedules,
        ...lease,
        reconcile_time: new Date().toISOString(),
      },
    },
  });
}

/** Releases a stale lease and writes its audit row when missing, in the caller's transaction. */
async function repairRow(
  row: ExaminedRow,
  options: ReconcileOptions,
  { logbook, audit }: ReconcileDeps,
  trx: Transaction,
): Promise<{ readonly auditId: string | null; readonly isRescheduled: boolean }> {
  const isRescheduled =
    options.reschedules && (await logbook.reconcile.reschedule(row, options.rescheduleDelaySeconds, { trx }));
  // Renewed or settled meanwhile: it was not stale.
  if (options.reschedules && !isRescheduled) return { auditId: null, isRescheduled };
  const auditId = row.isMissing ? await audit.write(staleAudit(row, options), { trx }) : null;
  return { auditId, isRescheduled };
}

/** Finds rows whose lease is stale, and releases them. */
export async function repairStale(
  options: ReconcileOptions,
  deps: ReconcileDeps,
): Promise<{ readonly scanned: number; readonly stale: Round['stale']; readonly details: readonly Detail[] }> {
  const { database, logbook } = deps;
  const { scanWindowHours, batchSize: limit, staleThresholdSeconds } = options;
  const wanted = { scanWindowHours, limit, staleThresholdSeconds };
  const detailOf = (row: ExaminedRow, auditId: string | null, isFixed: boolean): Detail => ({
    outbox_id: row.outboxId,
    status: 'stale',
    issue: row.isMissing ? 'missing_audit' : 'stale_lease',
    expected_reason: REASON,
    fixed: isFixed,
    audit_id: auditId,
    error: null,
  });
  if (!options.fixes) {
    const { count, stale } = await logbook.reconcile.pending(wanted);
    const missing = stale.filter(({ isMissing }) => isMissing).length;
    const figures = { count: stale.length, missing_audit: missing, fixed: 0, rescheduled: 0 };
    return { scanned: count, stale: figures, details: stale.map((row) => detailOf(row, null, false)) };
  }
  return database.transaction(async (trx) => {
    const { count, stale } = await logbook.reconcile.pending(wanted, { trx });
    const details: Detail[] = [];
    let [fixed, rescheduled] = [0, 0];
    for (const row of stale) {
      const { auditId, isRescheduled } = await repairRow(row, options, deps, trx);
      if (auditId !== null) fixed += 1;
      if (isRescheduled) rescheduled += 1;
      details.push(detailOf(row, auditId, auditId !== null || isRescheduled));
    }
    const missing = stale.filter(({ isMissing }) => isMissing).length;
    return { scanned: count, stale: { count: stale.length, missing_audit: missing, fixed, rescheduled }, details };
  });
}
