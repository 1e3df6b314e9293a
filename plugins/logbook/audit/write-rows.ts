import type { AuditService } from 'mortise/contracts/logbook';
import { type AuditEntry, type Database, insertRows, redactSecrets, type Transaction } from 'mortise/sdk';
import {
  type AuditColumns,
  auditColumnNames,
  auditColumns,
  type StoredEntry,
  storableJson,
  storableText,
  storedEntryOf,
  toStoredEntry,
} from './audit-row.js';
import { appendLinks, holdChain } from './chain.js';
import { settledEvidence } from './gateway-event.js';

function clean<T extends string | null | undefined>(text: T): T {
  return (typeof text === 'string' ? redactSecrets(text) : text) as T;
}

/** Redacts secrets from caller-chosen names: user ids, spaces, principals and reasons. */
export function withoutSecrets(entry: AuditEntry): AuditEntry {
  const { actorUserId, targetSpace, principal } = entry;
  const cleaned = {
    actorUserId: clean(actorUserId),
    targetSpace: clean(targetSpace),
    principal: clean(principal),
    reason: clean(entry.reason),
  };
  const isClean =
    cleaned.actorUserId === actorUserId &&
    cleaned.targetSpace === targetSpace &&
    cleaned.principal === principal &&
    cleaned.reason === entry.reason;
  // Members that were absent stay absent.
  const given = Object.entries(cleaned).filter(([, value]) => value !== undefined);
  return isClean ? entry : { ...entry, ...Object.fromEntries(given) };
}

const auditRows = {
  table: 'governance.write_audit',
  columns: auditColumnNames.filter((name) => name !== 'audit_id'),
  suffix: 'returning audit_id',
};

function bindings(database: Database, entry: StoredEntry) {
  const { codec } = database;
  return [
    codec.time(entry.createdAt),
    codec.time(entry.ts),
    codec.time(entry.updatedAt),
    entry.actorUserId,
    entry.targetSpace,
    entry.action,
    entry.reason,
    entry.payloadSha,
    entry.evidence,
    entry.correlationId,
    entry.status,
    entry.operation,
    entry.memoryKey,
    entry.principal,
    entry.writerId,
  ];
}

/**
 * Inserts audit rows and their chain links.
 * @param now ISO 8601
 * @returns the ids as decimal text, in the order of the entries
 */
export async function insertEntries(
  database: Database,
  instanceId: string,
  entries: readonly AuditEntry[],
  now: string,
  trx: Transaction,
): Promise<readonly string[]> {
  const head = await holdChain(database, instanceId, trx);
  const stored = entries.map((entry) => toStoredEntry(database, entry, head.writerId, now));
  const inserted = await insertRows<{ audit_id: number }>(
    database,
    auditRows,
    stored.map((entry) => bindings(database, entry)),
    { trx },
  );
  // Ids are assigned in row order, but `returning` may list them in another.
  const ids = inserted.map(({ audit_id }) => audit_id).sort((a, b) => a - b);
  const rows = stored.map((entry, index) => ({ auditId: String(ids[index]), phase: 'insert' as const, entry }));
  await appendLinks(database, head, rows, trx);
  return rows.map(({ auditId }) => auditId);
}

type AuditOutcome = Parameters<AuditService['finalize']>[1];

/**
 * Settles a pending row and adds its second link. Guarded by the status: of two processes that settle the same row,
 * exactly one succeeds.
 *
 * @returns the updated row, or null when it was not pending
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
