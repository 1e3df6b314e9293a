/** The configuration of `config.schema.json`, defaults filled in. */
export interface GatewayConfig {
  /** Where memories go that name no space; `team:<project>` when absent. */
  readonly default_team_space?: string;
  readonly unknown_actor_policy: 'reject' | 'degrade' | 'auto_create';
  readonly strict_mode_enforce_validate_refs: boolean;
  readonly validate_evidence_refs: boolean;
  /** Key of the memory backend. */
  readonly memory_backend?: string;
  /** Milliseconds that a remote backend has for one store in the path of a request. */
  readonly store_timeout_ms: number;
  readonly query_timeout_ms: number;
  /** `hash`: the text of a memory is removed once it is in a remote backend. */
  readonly ledger: 'full' | 'hash';
  /** Only looked at to choose the backend; the backend itself reads its own. */
  readonly openmemory_base_url?: string;
}

/** The backend that is chosen: the one named, else the remote one where it has an address, else the local one. */
export function chosenBackend(config: GatewayConfig): string {
  return config.memory_backend ?? (config.openmemory_base_url === undefined ? 'local' : 'openmemory');
}

/** Where memories go that name no space. */
export function defaultSpace(config: GatewayConfig, projectKey: string): string {
  return config.default_team_space ?? `team:${projectKey}`;
}
