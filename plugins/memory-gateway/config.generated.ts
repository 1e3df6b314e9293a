/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Space of stores and queries without a space. Defaults to team:<project>. */
  readonly default_team_space?: string;
  /** How memories from an actor that is not an active user are handled. */
  readonly unknown_actor_policy: 'reject' | 'degrade' | 'auto_create';
  /** Always validates evidence references in strict evidence mode. */
  readonly strict_mode_enforce_validate_refs: boolean;
  /** Also validates evidence references in compat mode, and reports invalid ones as warnings. */
  readonly validate_evidence_refs: boolean;
  /** Key of the memory backend. Defaults to openmemory when openmemory_base_url is set, otherwise local. */
  readonly memory_backend?: string;
  /** Time limit in milliseconds of one store in a remote backend during a request, including a retry. */
  readonly store_timeout_ms: number;
  /** Time limit in milliseconds of one search in the backend. */
  readonly query_timeout_ms: number;
  /**
   * full keeps the text of every memory; hash removes it once the memory is in a remote backend, after which it can neither be repaired nor found while the backend is down.
   */
  readonly ledger: 'full' | 'hash';
  /** Address of an OpenMemory server; only its presence matters here. */
  readonly openmemory_base_url?: string;
}
