/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Where files are kept: a local folder, or an S3-compatible object store. */
  readonly artifacts_backend: 'local' | 'object';
  /** Folder of the local store; relative to the data directory. <data directory>/artifacts when absent. */
  readonly artifacts_root?: string;
  /** Nothing new is written. */
  readonly artifacts_read_only: boolean;
  /** Largest file, bytes. */
  readonly artifacts_max_size_bytes: number;
  /** Needed for the backend object. */
  readonly object_store: {
    /** Address of the store, without bucket. */
    readonly endpoint?: string;
    readonly bucket?: string;
    readonly region: string;
    readonly access_key_id?: string;
    readonly secret_access_key?: string;
    /** The bucket is part of the path; else of the host name. */
    readonly path_style: boolean;
  };
  /** Largest piece of evidence, bytes after decoding. */
  readonly evidence_max_size_bytes: number;
  /** Where in the store evidence is kept. */
  readonly evidence_artifacts_prefix: string;
  /** Media types of evidence, without parameters. */
  readonly evidence_allowed_types: readonly string[];
  /** What happens to evidence of an actor that is no active user. */
  readonly unknown_actor_policy: 'reject' | 'degrade' | 'auto_create';
}
