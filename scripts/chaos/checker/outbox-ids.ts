import type { AuditRow } from './evidence.js';

type Json = Readonly<Record<string, unknown>>;

export function evidenceOf({ evidence_refs_json }: AuditRow): Json {
  const value: unknown = JSON.parse(evidence_refs_json);
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

/** The outbox row that an audit row is about, as text; null when it is about none. */
export function outboxIdOf(audit: AuditRow): string | null {
  const { outbox_id } = evidenceOf(audit);
  return outbox_id === undefined || outbox_id === null ? null : String(outbox_id);
}
