import type { Observation } from 'mortise/sdk';

/** An agent is the source, or the observation claims so. Such a message starts no turn: an agent must not answer itself. */
export function isAgentGenerated(observation: Observation): boolean {
  return observation.source_name.startsWith('agent:') || observation.actor?.actor_id === 'agent';
}

/** Alerts, controls, schedules and system observations: the platform's own traffic, which the gate always delivers. */
export function isSystemPlane(observation: Observation): boolean {
  return observation.obs_type !== 'message' && observation.obs_type !== 'world_data';
}
