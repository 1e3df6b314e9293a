import type { Dialect } from 'mortise/sdk';

/*
 * SQL expressions over the audit JSON. They are part of an index: their text must not change, and queries must use
 * exactly this text for the index to serve them.
 */

/**
 * The outbox id that a row names, as text. SQLite uses the index for a query alone that spells the type as the index
 * does; people write SQL in capitals.
 *
 * @param alias of the table, with its dot
 */
export function outboxIdText(dialect: Dialect, alias = ''): string {
  const id = `${alias}evidence_refs_json->>'outbox_id'`;
  return dialect === 'sqlite' ? `CAST(${id} AS TEXT)` : id;
}

/** 2 where the row has hashed evidence, 1 where it only has plain references, null where it has none. */
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

/** `strict` or `compat`, where the row tells. */
export function policyMode(dialect: Dialect): string {
  return dialect === 'sqlite'
    ? `evidence_refs_json->>'$.gateway_event.policy.mode'`
    : `evidence_refs_json#>>'{gateway_event,policy,mode}'`;
}
