import { type AuditEntry, isJsonObject, type JsonObject } from 'mortise/sdk';

const SCHEMA_VERSION = '2.0';

/** Defaults for members that the writer did not set. */
const eventDefaults: JsonObject = {
  payload_len: null,
  evidence_summary: { count: 0, has_strong: false, uris: [] },
  evidence_source: 'none',
  policy: { mode: null, version: null },
  validation: null,
  refs: [],
  backend: null,
};

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/**
 * Completes the `gateway_event` of an entry, so that rows of every writer have one shape: members derived from the entry,
 * defaults, then what the writer set itself. Entries without a `source` are returned unchanged.
 *
 * @param at ISO 8601
 */
export function withEvent(entry: AuditEntry, at: string): AuditEntry {
  const { evidence = {}, action, reason, operation, targetSpace = null } = entry;
  if (typeof evidence.source !== 'string') return entry;
  const given = objectOf(evidence.gateway_event);
  const event = {
    schema_version: SCHEMA_VERSION,
    source: evidence.source,
    operation,
    correlation_id: entry.correlationId ?? null,
    actor_user_id: entry.actorUserId ?? null,
    requested_space: targetSpace,
    final_space: action === 'reject' ? null : targetSpace,
    payload_sha: entry.payloadSha ?? null,
    ...eventDefaults,
    ...given,
    decision: { action, reason, steps: [], ...objectOf(given.decision) },
    event_ts: at,
  };
  return { ...entry, evidence: { ...evidence, gateway_event: event } };
}

/** The JSON of a settled row, with the final decision in its event. */
export function settledEvidence(
  evidence: JsonObject,
  outcome: Pick<AuditEntry, 'action' | 'reason'> & { patch?: JsonObject },
): JsonObject {
  const settled = { ...evidence, ...outcome.patch };
  if (evidence.gateway_event === undefined) return settled;
  const event = objectOf(evidence.gateway_event);
  const decision = { ...objectOf(event.decision), action: outcome.action, reason: outcome.reason };
  return { ...settled, gateway_event: { ...event, decision } };
}
