import { type AuditEntry, canonicalJson, type Database } from 'mortise/sdk';

/** An audit entry as its row holds it, ready to be hashed and inserted. Times are ISO 8601. */
export interface StoredEntry {
  readonly createdAt: string;
  readonly actorUserId: string | null;
  readonly targetSpace: string | null;
  readonly action: string | null;
  readonly reason: string | null;
  readonly payloadSha: string | null;
  /** Canonical JSON text, so that it reads the same from `jsonb`, which keeps no order. */
  readonly evidence: string;
  readonly correlationId: string | null;
  readonly status: string;
  readonly operation: string | null;
  readonly memoryKey: string | null;
  readonly principal: string | null;
  readonly writerId: string | null;
}

/** A text that both databases can hold: PostgreSQL knows neither NUL nor lone surrogates. */
export function storableText(text: string | null | undefined): string | null {
  return text === null || text === undefined
    ? null
    : text.replaceAll('\0', '\ufffd').replaceAll(/\p{Surrogate}/gu, '\ufffd');
}

/** Canonical JSON that survives a round trip through either database. */
export function storableJson(database: Database, value: unknown): string {
  const text = canonicalJson(value);
  // Only escapes can hide what jsonb refuses; they are rare, so the second pass is too.
  return text.includes('\\u') ? canonicalJson(database.codec.parseJson(database.codec.json(value))) : text;
}

export function toStoredEntry(database: Database, entry: AuditEntry, writerId: string, createdAt: string): StoredEntry {
  return {
    createdAt,
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
