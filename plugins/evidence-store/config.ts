export interface ObjectStoreConfig {
  readonly endpoint?: string;
  readonly bucket?: string;
  readonly region: string;
  readonly access_key_id?: string;
  readonly secret_access_key?: string;
  readonly path_style: boolean;
}

/** The configuration of `config.schema.json`, defaults filled in. */
export interface EvidenceConfig {
  readonly artifacts_backend: 'local' | 'object';
  readonly artifacts_root?: string;
  readonly artifacts_read_only: boolean;
  /** Bytes. */
  readonly artifacts_max_size_bytes: number;
  readonly object_store: ObjectStoreConfig;
  /** Bytes after decoding, inclusive. */
  readonly evidence_max_size_bytes: number;
  readonly evidence_artifacts_prefix: string;
  readonly evidence_allowed_types: readonly string[];
  readonly unknown_actor_policy: 'reject' | 'degrade' | 'auto_create';
}
