/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Space of stores and queries that name none; team:<project> when absent. */
  readonly default_team_space?: string;
  /** What happens to memories of an actor that is no active user. */
  readonly unknown_actor_policy: 'reject' | 'degrade' | 'auto_create';
  /** In strict evidence mode, always check evidence. */
  readonly strict_mode_enforce_validate_refs: boolean;
  /** Check evidence in compat mode too, and report what is wrong as warnings. */
  readonly validate_evidence_refs: boolean;
  /** Key of the memory backend; openmemory when it has an address, else local. */
  readonly memory_backend?: string;
  /** Milliseconds that a remote backend has for one store in the path of a request, a repeated call included. */
  readonly store_timeout_ms: number;
  /** Milliseconds that a backend has for one search. */
  readonly query_timeout_ms: number;
  /**
   * full keeps the text of every memory; hash removes it once the memory is in a remote backend, which then can neither be repaired nor found while the backend is down.
   */
  readonly ledger: 'full' | 'hash';
  /** Address of an OpenMemory server; only its presence matters here. */
  readonly openmemory_base_url?: string;
}
