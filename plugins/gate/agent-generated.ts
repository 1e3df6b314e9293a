import type { Observation } from 'mortise/sdk';

/** What an agent itself said, or what says that it is one. */
export function isAgentGenerated(observation: Observation): boolean {
  return observation.source_name.startsWith('agent:') || observation.actor?.actor_id === 'agent';
}

/** What the platform tells itself; the gate always lets it through. */
export function isSystemPlane(observation: Observation): boolean {
  return observation.obs_type !== 'message' && observation.obs_type !== 'world_data';
}

/** An operator has let it through once already: content rules and emergencies do not hold it a second time. */
export function isReleased(observation: Observation): boolean {
  return observation.metadata.released_from !== undefined;
}
