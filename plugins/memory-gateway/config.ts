/** The configuration of `config.schema.json`, defaults filled in. */
export interface GatewayConfig {
  /** Space of stores and queries that name none; `team:<project>` when absent. */
  readonly default_team_space?: string;
  readonly unknown_actor_policy: 'reject' | 'degrade' | 'auto_create';
  readonly strict_mode_enforce_validate_refs: boolean;
  readonly validate_evidence_refs: boolean;
  /** Key of the memory backend; when absent, `openmemory` if it has an address, else `local`. */
  readonly memory_backend?: string;
  /** Milliseconds a remote backend has for one store in the path of a request. */
  readonly store_timeout_ms: number;
  readonly query_timeout_ms: number;
  /** `hash`: the text of a memory is removed once it is in a remote backend. */
  readonly ledger: 'full' | 'hash';
  /** Only used to choose the backend, which reads its own setting. */
  readonly openmemory_base_url?: string;
}
