/** Where the bytes of artifacts are. Keys were checked before; errors are those of `artifact-error.ts`. */
export interface ByteStore {
  readonly backend: 'local' | 'object';
  /** What URIs of this store begin with. */
  readonly uriPrefix: string;
  /** Writes all bytes or none, over what is there. */
  write(key: string, data: Uint8Array, signal: AbortSignal | undefined): Promise<void>;
  /** Null when there is nothing. @throws MortiseError `PAYLOAD_TOO_LARGE` for more than `maxBytes`. */
  read(key: string, maxBytes: number, signal: AbortSignal | undefined): Promise<Uint8Array | null>;
  /** Bytes; null when there is nothing. */
  size(key: string, signal: AbortSignal | undefined): Promise<number | null>;
}
