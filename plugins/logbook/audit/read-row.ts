import type { AuditRow } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
import { type StoredEntry, storedJson } from './stored-entry.js';

/** A row of `governance.write_audit` as the database returns it. */
export interface AuditColumns {
  readonly audit_id: number;
  readonly created_at: string;
  readonly ts: string;
  readonly updated_at: string;
  readonly actor_user_id: string | null;
  readonly target_space: string | null;
  readonly action: string | null;
  readonly reason: string | null;
  readonly payload_sha: string | null;
  readonly evidence_refs_json: string;
  readonly correlation_id: string | null;
  readonly status: string;
  readonly operation: string | null;
  readonly memory_key: string | null;
  readonly principal: string | null;
  readonly writer_id: string | null;
}

export const auditColumnNames = [
  'audit_id',
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
] as const;

export const auditColumns = auditColumnNames.join(', ');

/** A time as it is hashed. What is none, which only an edit by hand leaves behind, is hashed as it is. */
function hashedTime({ codec }: Database, stored: string): string {
  try {
    return codec.parseTime(stored) ?? '';
  } catch {
    return String(stored);
  }
}

/** The row as it was hashed. */
export function storedEntryOf(database: Database, row: AuditColumns): StoredEntry {
  return {
    createdAt: hashedTime(database, row.created_at),
    ts: hashedTime(database, row.ts),
    updatedAt: hashedTime(database, row.updated_at),
    actorUserId: row.actor_user_id,
    targetSpace: row.target_space,
    action: row.action,
    reason: row.reason,
    payloadSha: row.payload_sha,
    evidence: storedJson(database, row.evidence_refs_json),
    correlationId: row.correlation_id,
    status: row.status,
    operation: row.operation,
    memoryKey: row.memory_key,
    principal: row.principal,
    writerId: row.writer_id,
  };
}

function isAction(text: string | null): text is AuditRow['action'] {
  return text === 'allow' || text === 'redirect' || text === 'reject';
}

/** The row as readers of the trail see it. A row without an action, made by hand, counts as refused. */
export function auditRowOf(database: Database, row: AuditColumns): AuditRow {
  return {
    auditId: String(row.audit_id),
    createdAt: database.codec.parseTime(row.created_at) ?? '',
    updatedAt: database.codec.parseTime(row.updated_at) ?? '',
    actorUserId: row.actor_user_id,
    targetSpace: row.target_space,
    action: isAction(row.action) ? row.action : 'reject',
    reason: row.reason ?? '',
    payloadSha: row.payload_sha,
    evidence: database.codec.parseJson<Record<string, unknown>>(row.evidence_refs_json),
    correlationId: row.correlation_id,
    status: row.status,
    operation: row.operation ?? '',
    memoryKey: row.memory_key,
    principal: row.principal,
  };
}
