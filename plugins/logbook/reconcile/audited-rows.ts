import type { Dialect } from 'mortise/sdk';

/** The audit trail's outbox id as text, written as in the index, so that it serves the look-up. */
export function auditedOutboxId(dialect: Dialect): string {
  return dialect === 'sqlite'
    ? `cast(a.evidence_refs_json->>'outbox_id' as text)`
    : `a.evidence_refs_json->>'outbox_id'`;
}

/** SQL condition: there is an audit row of the outbox row `o` with this action, whose reason begins with one of these. */
export function isAudited(dialect: Dialect, action: string, reasons: readonly string[]): string {
  const begins = reasons.map((reason) => `substr(a.reason, 1, ${reason.length}) = '${reason}'`);
  return `exists (select 1 from {governance.write_audit} a
    where ${auditedOutboxId(dialect)} = cast(o.outbox_id as text) and a.action = '${action}'
      and (${begins.join(' or ')}))`;
}
