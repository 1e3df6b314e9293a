export interface FilesService {
  /** Absolute path of the plugin's own folder below the data directory; created on first use, mode 0700. */
  ownFolder(): Promise<string>;
  /** Absolute path of the plugin's shipped folder (its `plugin.json`). Read only. */
  readonly pluginFolder: string;
  /**
   * Resolves `path` below `root` to its real path.
   * @throws MortiseError `outside_roots` when it leaves the root, through a link or otherwise.
   */
  confine(root: string, path: string): Promise<string>;
  /** Writes a temporary file next to the target, syncs it, and renames it over the target. */
  writeAtomic(path: string, data: string | Uint8Array): Promise<void>;
}
