import type { AuditEntry } from 'mortise/sdk';
import { canonicalJson, type Database } from 'mortise/sdk';

/** An audit entry as its row holds it, ready to be hashed and inserted. Times are ISO 8601. */
export interface StoredEntry {
  readonly createdAt: string;
  readonly ts: string;
  /** When it was settled; as long as it is not, when it was made. */
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

/** A text that both databases can hold: PostgreSQL knows neither NUL nor lone surrogates. */
export function storableText(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : text.replaceAll('\0', '\ufffd').toWellFormed();
}

/**
 * The JSON text that is stored and hashed. SQLite keeps a text as it is. PostgreSQL keeps neither the order of members
 * nor what only escapes can say: there it is the canonical text of what can be kept, which reads back the same.
 */
export function storableJson({ dialect, codec }: Database, value: unknown): string {
  const text = codec.json(value);
  return dialect === 'sqlite' ? text : canonicalJson(codec.parseJson(text));
}

/** The text that {@link storableJson} made, from its column. */
export function storedJson({ dialect, codec }: Database, column: string): string {
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
