/** Storage for the bytes of artifacts. Keys are valid; errors are those of `artifact-error.ts`. */
export interface ByteStore {
  readonly backend: 'local' | 'object';
  /** The beginning of the URIs of this store. */
  readonly uriPrefix: string;
  /** Writes all bytes or none, replacing what exists. */
  write(key: string, data: Uint8Array, signal: AbortSignal | undefined): Promise<void>;
  /** Null when the key does not exist. @throws MortiseError `PAYLOAD_TOO_LARGE` for more than `maxBytes`. */
  read(key: string, maxBytes: number, signal: AbortSignal | undefined): Promise<Uint8Array | null>;
  /** Bytes; null when the key does not exist. */
  size(key: string, signal: AbortSignal | undefined): Promise<number | null>;
}
