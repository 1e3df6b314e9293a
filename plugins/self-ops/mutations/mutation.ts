/** What a mutation changes. */
export type MutationTarget = 'workspace_file' | 'provider_config' | 'active_llm';

export type Operation =
  | { readonly kind: 'replace'; readonly path: string; readonly value: unknown }
  | { readonly kind: 'json_patch'; readonly path: string; readonly patch: readonly unknown[] }
  | { readonly kind: 'text_rewrite'; readonly path: string; readonly search: string; readonly replace: string };

/** `text`: a file of the workspace; `providers` and `active`: documents of the model settings. */
export type DocumentKind = 'text' | 'providers' | 'active';

/** A document before and after the operations. A text file that does not exist is undefined. */
export interface Draft {
  readonly path: string;
  readonly kind: DocumentKind;
  readonly before: unknown;
  readonly after: unknown;
}

export const providersPath = 'config/models.json';
export const activePath = 'config/active-llm.json';

export interface MutationChecks {
  readonly path_whitelist_passed: boolean;
  /** False when a document would not be valid; it cannot be applied then. */
  readonly structure_valid: boolean;
  /** Why the structure is not valid. */
  readonly structure_error?: string;
  readonly risk_level: 'low' | 'medium' | 'high';
  readonly sensitive_fields?: readonly string[];
  readonly denied_paths?: readonly string[];
}

export interface DiffSummary {
  readonly target: MutationTarget;
  readonly path: string;
  readonly changed: boolean;
  /** Hex SHA-256; empty for a file that does not exist and for a denied path. */
  readonly before_hash: string;
  readonly after_hash: string;
}
