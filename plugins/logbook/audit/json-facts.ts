import type { Dialect } from 'mortise/sdk';

/*
 * SQL expressions over the audit JSON. They are part of an index: their text must not change, and queries must use
 * exactly this text for the index to serve them.
 */

/**
 * The outbox id that a row names, as text. SQLite uses the index only when the cast is spelled exactly as in the index.
 *
 * @param alias of the table, with a trailing dot
 */
export function outboxIdText(dialect: Dialect, alias = ''): string {
  const id = `${alias}evidence_refs_json->>'outbox_id'`;
  return dialect === 'sqlite' ? `CAST(${id} AS TEXT)` : id;
}

/** 2: hashed evidence; 1: plain references only; null: no evidence. */
export function evidenceForm(dialect: Dialect): string {
  return dialect === 'sqlite'
    ? `case when coalesce(evidence_refs_json->>'$.gateway_event.evidence_source', evidence_refs_json->>'$.evidence_source') in ('v2', 'mixed')
       or json_array_length(evidence_refs_json, '$.patches') > 0
       or json_array_length(evidence_refs_json, '$.attachments') > 0 then 2
       when coalesce(evidence_refs_json->>'$.gateway_event.evidence_source', evidence_refs_json->>'$.evidence_source') = 'v1_mapped'
       or json_array_length(evidence_refs_json, '$.external') > 0 then 1 end`
    : `case when coalesce(evidence_refs_json#>>'{gateway_event,evidence_source}', evidence_refs_json->>'evidence_source') in ('v2', 'mixed')
       or coalesce(evidence_refs_json->'patches', '[]'::jsonb) not in ('[]'::jsonb, 'null'::jsonb)
       or coalesce(evidence_refs_json->'attachments', '[]'::jsonb) not in ('[]'::jsonb, 'null'::jsonb) then 2
       when coalesce(evidence_refs_json#>>'{gateway_event,evidence_source}', evidence_refs_json->>'evidence_source') = 'v1_mapped'
       or coalesce(evidence_refs_json->'external', '[]'::jsonb) not in ('[]'::jsonb, 'null'::jsonb) then 1 end`;
}

/** `strict` or `compat`, null when the row has no policy mode. */
export function policyMode(dialect: Dialect): string {
  return dialect === 'sqlite'
    ? `evidence_refs_json->>'$.gateway_event.policy.mode'`
    : `evidence_refs_json#>>'{gateway_event,policy,mode}'`;
}

/** SQL condition: the outbox row `o` has an audit row with this action and one of these reason prefixes. */
export function isAudited(dialect: Dialect, action: string, reasons: readonly string[]): string {
  const begins = reasons.map((reason) => `substr(a.reason, 1, ${reason.length}) = '${reason}'`);
  return `exists (select 1 from {governance.write_audit} a
    where ${outboxIdText(dialect, 'a.')} = cast(o.outbox_id as text) and a.action = '${action}'
      and (${begins.join(' or ')}))`;
}
