export interface ObjectStoreConfig {
  readonly endpoint?: string;
  readonly bucket?: string;
  readonly region: string;
  readonly access_key_id?: string;
  readonly secret_access_key?: string;
  readonly path_style: boolean;
}
