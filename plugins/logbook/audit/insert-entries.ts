import type { AuditEntry } from 'mortise/sdk';
import { type Database, insertRows, type Transaction } from 'mortise/sdk';
import { appendLinks, holdChain } from './chain.js';
import { type StoredEntry, toStoredEntry } from './stored-entry.js';

const auditRows = {
  table: 'governance.write_audit',
  columns: [
    'created_at',
    'ts',
    'updated_at',
    'actor_user_id',
    'target_space',
    'action',
    'reason',
    'payload_sha',
    'evidence_refs_json',
    'correlation_id',
    'status',
    'operation',
    'memory_key',
    'principal',
    'writer_id',
  ],
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

/** Inserts audit rows of this moment (ISO 8601) and their chain links. @returns the ids as decimal text, in the order of the entries. */
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
  // Ids are given out in the order of the rows, but may be returned in another.
  const ids = inserted.map(({ audit_id }) => audit_id).sort((a, b) => a - b);
  const rows = stored.map((entry, index) => ({ auditId: String(ids[index]), phase: 'insert' as const, entry }));
  await appendLinks(database, head, rows, trx);
  return rows.map(({ auditId }) => auditId);
}
