/** A file of the artifact store. */
export interface Artifact {
  /** Relative path with forward slashes. */
  readonly key: string;
  readonly uri: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

export interface ReadArtifact extends Artifact {
  readonly data: Uint8Array;
}

export interface ArtifactOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * The service `artifacts`: files that database rows refer to. All of its errors are coded:
 * `PATH_TRAVERSAL_ERROR`, `INVALID_URI`, `ARTIFACT_WRITE_DISABLED`, `ARTIFACT_OVERWRITE_DENIED`,
 * `ARTIFACT_SIZE_LIMIT_EXCEEDED`, `ARTIFACT_NOT_FOUND`, `PAYLOAD_TOO_LARGE`, `OBJECT_STORE_NOT_CONFIGURED`, and
 * retryable `ARTIFACT_WRITE_ERROR`, `ARTIFACT_READ_ERROR`, `OBJECT_STORE_ERROR`.
 */
export interface ArtifactStore {
  readonly backend: 'local' | 'object';
  /**
   * Writes all bytes or none. The same bytes under the same key are written once.
   * @throws MortiseError `ARTIFACT_OVERWRITE_DENIED` when the key holds other bytes.
   */
  put(
    key: string,
    data: Uint8Array,
    /** `replace`: the key contains the hash of the bytes, so different bytes there are damaged and are replaced. */
    options?: ArtifactOptions & { readonly replace?: boolean },
  ): Promise<Artifact & { readonly created: boolean }>;
  /** @throws MortiseError `ARTIFACT_NOT_FOUND`; `PAYLOAD_TOO_LARGE` for more than `maxBytes`. */
  get(key: string, options?: ArtifactOptions & { readonly maxBytes?: number | undefined }): Promise<ReadArtifact>;
  /** Size and hash; null when the key does not exist. */
  stat(key: string, options?: ArtifactOptions): Promise<Artifact | null>;
  /** The key of a URI of this store. @throws MortiseError `INVALID_URI`. */
  keyOf(uri: string): string;
  /** The URI of a key, whether or not it exists. @throws MortiseError `PATH_TRAVERSAL_ERROR`. */
  uriOf(key: string): string;
}
