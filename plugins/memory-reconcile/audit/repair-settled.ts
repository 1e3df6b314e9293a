import { type OutboxRow, outboxAudit } from 'mortise/contracts/logbook';
import type { AuditEntry, TransactionOption } from 'mortise/sdk';
import type { ReconcileDeps, ReconcileOptions } from '../options.js';
import type { Detail, StatusCount } from '../report.js';

/** An audit row that replaces a missing one or records a repair. */
export function reconcileEntry(row: OutboxRow, entry: Pick<AuditEntry, 'action' | 'reason' | 'evidence'>): AuditEntry {
  return outboxAudit(row, { operation: 'outbox_reconcile', source: 'reconcile_outbox', ...entry });
}

type Settled = 'sent' | 'dead';

const reasons = { sent: 'outbox_flush_success', dead: 'outbox_flush_dead' } as const;

function missingAudit(status: Settled, row: OutboxRow): AuditEntry {
  const reconciled = { reconciled: true, reconcile_time: new Date().toISOString() };
  return status === 'sent'
    ? reconcileEntry(row, {
        action: 'allow',
        reason: reasons.sent,
        evidence: { memory_id: row.memoryId, extra: reconciled },
      })
    : reconcileEntry(row, {
        action: 'reject',
        reason: reasons.dead,
        evidence: { extra: { ...reconciled, last_error: row.lastError } },
      });
}

/** Finds sent or dead rows without their audit row and writes it. The rows are not changed. */
export async function repairSettled(
  status: Settled,
  options: ReconcileOptions,
  deps: ReconcileDeps,
): Promise<StatusCount & { readonly details: readonly Detail[] }> {
  const { database, logbook, audit } = deps;
  const window = { scanWindowHours: options.scanWindowHours, limit: options.batchSize };
  const examine = async (trx: TransactionOption) => {
    const { count, findings } = await logbook.reconcile[status](window, trx);
    const entries = options.fixes ? findings.map((row) => missingAudit(status, row)) : [];
    const auditIds = entries.length === 0 ? [] : await audit.writeMany(entries, trx);
    const details = findings.map((row, index) => ({
      outbox_id: row.outboxId,
      status,
      issue: 'missing_audit' as const,
      expected_reason: reasons[status],
      fixed: options.fixes,
      audit_id: auditIds[index] ?? null,
      error: null,
    }));
    return { count, missing_audit: findings.length, fixed: entries.length, details };
  };
  return options.fixes ? database.transaction((trx) => examine({ trx })) : examine({});
}
