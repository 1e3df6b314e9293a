import type { Observation, ObservationInput } from 'mortise/sdk';

/** What continues the trace of another observation: same trace, correlation and session, one hop further. */
export function derive(parent: Observation, fields: ObservationInput): ObservationInput {
  const { session_key: target, metadata } = fields;
  const leaves = target !== undefined && target !== parent.session_key;
  return {
    session_key: parent.session_key,
    ...fields,
    // Whoever speaks to another session says from which one.
    ...(leaves ? { metadata: { ...metadata, origin_session_key: parent.session_key } } : {}),
    trace_id: parent.trace_id,
    correlation_id: parent.correlation_id,
    hop: parent.hop + 1,
    parent_obs_id: parent.obs_id,
  };
}
