import type { GateOutcome } from 'mortise/contracts/gate';
import type { Observation } from 'mortise/sdk';

/** What stands in for the gate while no plugin provides it: everything is delivered, and says so. */
export function gateOff(observation: Observation, sessionKey: string): GateOutcome {
  return outcome(observation, sessionKey, 'deliver', 'gate_off');
}

/** A gate that fails is closed for messages; what the platform tells itself is still delivered. */
export function gateFailed(observation: Observation, sessionKey: string): GateOutcome {
  const system = observation.obs_type !== 'message' && observation.obs_type !== 'world_data';
  return outcome(observation, sessionKey, system ? 'deliver' : 'drop', 'gate_error');
}

function outcome(
  observation: Observation,
  sessionKey: string,
  action: 'deliver' | 'drop',
  reason: string,
): GateOutcome {
  return Object.freeze({
    decision: Object.freeze({
      action,
      reason,
      reasons: Object.freeze([reason]),
      scene: 'unknown',
      session_key: sessionKey,
      trace_id: observation.trace_id,
    }),
    emit: [],
    ingest: [],
  });
}
