import type { Config } from './config.generated.js';
/** The backend that is chosen: the one named, else the remote one where it has an address, else the local one. */
export function chosenBackend(config: Config): string {
  return config.memory_backend ?? (config.openmemory_base_url === undefined ? 'local' : 'openmemory');
}

/** Where memories go that name no space. */
export function defaultSpace(config: Config, projectKey: string): string {
  return config.default_team_space ?? `team:${projectKey}`;
}
