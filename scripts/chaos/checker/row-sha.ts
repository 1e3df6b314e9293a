import { createHash } from 'node:crypto';
import type { AuditRow } from './evidence.js';

/** JSON text with the members of every object in code unit order. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

/**
 * The hash that the last link of an audit row must have. Links of the first version do not cover `ts` and
 * `updated_at`. SQLite keeps the JSON text that was hashed; PostgreSQL keeps its
 * value, whose canonical text was.
 */
export function rowSha(row: AuditRow, hashVersion: string, dialect: 'sqlite' | 'postgres'): string {
  const facts = [
    row.audit_id,
    row.created_at,
    ...(hashVersion === '1' ? [] : [row.ts, row.updated_at]),
    row.actor_user_id,
    row.target_space,
    row.action,
    row.reason,
    row.payload_sha,
    row.correlation_id,
    row.status,
    row.operation,
    row.memory_key,
    row.principal,
    row.writer_id,
  ];
  const json = dialect === 'sqlite' ? row.evidence_refs_json : canonical(JSON.parse(row.evidence_refs_json));
  return createHash('sha256')
    .update(`${JSON.stringify(facts)}\n${json}`)
    .digest('hex');
}
