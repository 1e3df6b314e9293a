import type { AuditEntry } from 'mortise/sdk';

type Json = Readonly<Record<string, unknown>>;

const SCHEMA_VERSION = '2.0';

/** What an event says of a matter that its writer did not speak of. */
const unsaid: Json = {
  payload_len: null,
  evidence_summary: { count: 0, has_strong: false, uris: [] },
  evidence_source: 'none',
  policy: { mode: null, version: null },
  validation: null,
  refs: [],
  backend: null,
};

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

/**
 * The entry with its JSON's `gateway_event` in full: everything that the entry itself says, then what the writer said in
 * its own `gateway_event`, so that rows of every writer read alike. Rows of writers that name no `source` stay as they are.
 *
 * @param at ISO 8601
 */
export function withEvent(entry: AuditEntry, at: string): AuditEntry {
  const { evidence = {}, action, reason, operation, targetSpace = null } = entry;
  if (typeof evidence.source !== 'string') return entry;
  const said = objectOf(evidence.gateway_event);
  const event = {
    schema_version: SCHEMA_VERSION,
    source: evidence.source,
    operation,
    correlation_id: entry.correlationId ?? null,
    actor_user_id: entry.actorUserId ?? null,
    requested_space: targetSpace,
    final_space: action === 'reject' ? null : targetSpace,
    payload_sha: entry.payloadSha ?? null,
    ...unsaid,
    ...said,
    decision: { action, reason, steps: [], ...objectOf(said.decision) },
    event_ts: at,
  };
  return { ...entry, evidence: { ...evidence, gateway_event: event } };
}

/** The JSON of a row that was settled: its event tells what was decided in the end. */
export function settledEvidence(
  evidence: Json,
  outcome: Pick<AuditEntry, 'action' | 'reason'> & { patch?: Json },
): Json {
  const settled = { ...evidence, ...outcome.patch };
  if (evidence.gateway_event === undefined) return settled;
  const event = objectOf(evidence.gateway_event);
  const decision = { ...objectOf(event.decision), action: outcome.action, reason: outcome.reason };
  return { ...settled, gateway_event: { ...event, decision } };
}
