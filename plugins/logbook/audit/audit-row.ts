import type { AuditRow } from 'mortise/contracts/logbook';
import { type AuditEntry, canonicalJson, type Database } from 'mortise/sdk';

/** An audit entry in the form that is hashed and stored. Times are ISO 8601. */
export interface StoredEntry {
  readonly createdAt: string;
  readonly ts: string;
  /** Time of settlement; creation time while pending. */
  readonly updatedAt: string;
  readonly actorUserId: string | null;
  readonly targetSpace: string | null;
  readonly action: string | null;
  readonly reason: string | null;
  readonly payloadSha: string | null;
  /** JSON text. */
  readonly evidence: string;
  readonly correlationId: string | null;
  readonly status: string;
  readonly operation: string | null;
  readonly memoryKey: string | null;
  readonly principal: string | null;
  readonly writerId: string | null;
}

/** Text that both databases can store: PostgreSQL accepts neither NUL nor lone surrogates. */
export function storableText(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : text.replaceAll('\0', '\ufffd').toWellFormed();
}

/**
 * The JSON text that is stored and hashed. SQLite stores text unchanged; jsonb keeps neither member order nor escapes, so
 * on PostgreSQL the canonical form is hashed, which reads back identically.
 */
export function storableJson({ dialect, codec }: Database, value: unknown): string {
  const text = codec.json(value);
  return dialect === 'sqlite' ? text : canonicalJson(codec.parseJson(text));
}

/** The text that {@link storableJson} made, from its column. */
function storedJson({ dialect, codec }: Database, column: string): string {
  return dialect === 'sqlite' ? column : canonicalJson(codec.parseJson(column));
}

export function toStoredEntry(database: Database, entry: AuditEntry, writerId: string, createdAt: string): StoredEntry {
  return {
    createdAt,
    ts: createdAt,
    updatedAt: createdAt,
    actorUserId: storableText(entry.actorUserId),
    targetSpace: storableText(entry.targetSpace),
    action: entry.action,
    reason: storableText(entry.reason),
    payloadSha: entry.payloadSha ?? null,
    evidence: storableJson(database, entry.evidence ?? {}),
    correlationId: storableText(entry.correlationId),
    status: entry.status ?? (entry.action === 'reject' ? 'failed' : 'success'),
    operation: entry.operation,
    memoryKey: entry.memoryKey ?? null,
    principal: storableText(entry.principal),
    writerId,
  };
}

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

/** A time in its hashed form. An unparseable value, left by a manual edit, is hashed as stored. */
function hashedTime({ codec }: Database, stored: string): string {
  try {
    return codec.parseTime(stored) ?? '';
  } catch {
    return String(stored);
  }
}

/** The row in its hashed form. */
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

/** The row as readers of the trail see it. A manually inserted row without an action counts as rejected. */
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
