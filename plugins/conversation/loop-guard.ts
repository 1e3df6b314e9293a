import type { Observation } from 'mortise/sdk';

/** What the agent itself said starts no turn: an agent that answers itself would never end. */
export function isAgentGenerated(observation: Observation): boolean {
  return observation.source_name.startsWith('agent:') || observation.actor?.actor_id === 'agent';
}
