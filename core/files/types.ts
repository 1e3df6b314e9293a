/** What a plugin's file service is made of. */
export interface FilesOptions {
  readonly plugin: string;
  /** Absolute. */
  readonly dataDir: string;
  /** Absolute path of the folder with the plugin's `plugin.json`. */
  readonly pluginFolder: string;
}
