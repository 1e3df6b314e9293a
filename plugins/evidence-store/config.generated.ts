/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Where files are stored: a local folder or an S3-compatible object store. */
  readonly artifacts_backend: 'local' | 'object';
  /** Folder of the local store, relative to the data directory. Defaults to <data directory>/artifacts. */
  readonly artifacts_root?: string;
  /** Rejects new files. */
  readonly artifacts_read_only: boolean;
  /** Maximum size of a file in bytes. */
  readonly artifacts_max_size_bytes: number;
  /** Required when artifacts_backend is object. */
  readonly object_store: {
    /** URL of the object store, without the bucket. */
    readonly endpoint?: string;
    readonly bucket?: string;
    readonly region: string;
    readonly access_key_id?: string;
    readonly secret_access_key?: string;
    /** Puts the bucket into the path instead of the host name. */
    readonly path_style: boolean;
  };
  /** Maximum size of a piece of evidence in bytes, after decoding. */
  readonly evidence_max_size_bytes: number;
  /** Prefix of evidence keys in the store. */
  readonly evidence_artifacts_prefix: string;
  /** Media types of evidence, without parameters. */
  readonly evidence_allowed_types: readonly string[];
  /** How evidence from an actor that is not an active user is handled. */
  readonly unknown_actor_policy: 'reject' | 'degrade' | 'auto_create';
}
