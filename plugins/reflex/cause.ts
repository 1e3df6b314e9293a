import type { Observation, ObservationInput } from 'mortise/sdk';

/** What a change goes back to; of one that another process has made only the observation's id is known. */
export interface Cause {
  readonly obsId: string | null;
  readonly traceId: string | null;
  readonly correlationId: string | null;
  readonly hop: number;
  readonly actor: string | null;
  readonly originSessionKey: string | null;
}

export function causeOf(observation: Observation): Cause {
  const { obs_id, trace_id, correlation_id, hop, actor, source_name, metadata } = observation;
  const origin = metadata.origin_session_key;
  return {
    obsId: obs_id,
    traceId: trace_id,
    correlationId: correlation_id,
    hop,
    actor: actor?.actor_id ?? source_name,
    originSessionKey: typeof origin === 'string' ? origin : null,
  };
}

export function distantCause(obsId: string | null): Cause {
  return { obsId, traceId: null, correlationId: null, hop: 0, actor: null, originSessionKey: null };
}

/** What follows from a cause, also when its handler has long ended. */
export function continued(
  { obsId, traceId, correlationId, hop }: Cause,
  observation: ObservationInput,
): ObservationInput {
  return {
    ...observation,
    trace_id: traceId ?? undefined,
    correlation_id: correlationId ?? undefined,
    hop: hop + 1,
    parent_obs_id: obsId,
  };
}
