import type { AuditService } from 'mortise/contracts/logbook';
import type { Database, Transaction } from 'mortise/sdk';
import { appendLinks, holdChain } from './chain.js';
import { settledEvidence } from './gateway-event.js';
import { type AuditColumns, auditColumns, storedEntryOf } from './read-row.js';
import { type StoredEntry, storableJson, storableText } from './stored-entry.js';

export type AuditOutcome = Parameters<AuditService['finalize']>[1];

/**
 * Settles a pending row and adds its second link. Guarded by the status, so that of two processes that settle the same
 * row one changes it and the other learns that it did not.
 *
 * @returns the row as it is now, or null when it was not pending.
 */
export async function finalizeEntry(
  database: Database,
  instanceId: string,
  auditId: string,
  outcome: AuditOutcome,
  trx: Transaction,
): Promise<StoredEntry | null> {
  const { rows } = await database.statement<AuditColumns>(
    `select ${auditColumns} from {governance.write_audit} where audit_id = ? and status = 'pending'
     ${database.dialect === 'postgres' ? 'for update' : ''}`,
    [auditId],
    { trx },
  );
  const row = rows[0];
  if (row === undefined) return null;
  const before = storedEntryOf(database, row);
  const evidence = settledEvidence(database.codec.parseJson<Record<string, unknown>>(row.evidence_refs_json), outcome);
  const settled: StoredEntry = {
    ...before,
    updatedAt: database.codec.time(Date.now()),
    status: outcome.status,
    action: outcome.action,
    reason: storableText(outcome.reason),
    evidence: storableJson(database, evidence),
  };
  await database.statement(
    `update {governance.write_audit} set status = ?, action = ?, reason = ?, evidence_refs_json = ?, updated_at = ?
     where audit_id = ? and status = 'pending'`,
    [settled.status, settled.action, settled.reason, settled.evidence, settled.updatedAt, auditId],
    { trx },
  );
  const head = await holdChain(database, instanceId, trx);
  await appendLinks(database, head, [{ auditId, phase: 'final', entry: settled }], trx);
  return settled;
}
