import type { Observation, ObservationInput } from 'mortise/sdk';

/** The observation that caused a change. Of a change by another process only the id is known. */
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

/** The cause of a change that another process made. */
export function distantCause(obsId: string | null): Cause {
  return { obsId, traceId: null, correlationId: null, hop: 0, actor: null, originSessionKey: null };
}

/** An observation that continues the trace of a cause, also after its handler has ended. */
export function continueTrace(
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
