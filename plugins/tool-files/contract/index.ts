/** What a caller wants to do with a path. */
export type FileAccess = 'read' | 'write';

/** A text file as it is on disk. */
export interface TextFile {
  /** Real path, without links. */
  readonly real: string;
  readonly text: string;
}

/** One file of a batch. */
export interface FileChange {
  /** Real path, from {@link WorkspaceFiles.locate} with the access `write`. */
  readonly real: string;
  /** The new content; null deletes the file. */
  readonly content: string | null;
  /** Real path of the file whose mode a new file gets; 0644 when absent. */
  readonly modeOf?: string | undefined;
}

/**
 * The service `workspace-files`: the files that tools may open for a model. Real paths are confined to the workspace and the
 * configured folders, and to uploads and skills for reading; the platform's own files are excluded.
 */
export interface WorkspaceFiles {
  /** Real path of the workspace folder, in which relative paths begin. */
  root(): Promise<string>;
  /**
   * The real path behind a path, after all links. What does not exist yet is judged by its nearest existing parent.
   * @throws MortiseError `invalid_tool_input` (400), `details.reason` `outside_roots`.
   */
  locate(path: string, access: FileAccess): Promise<string>;
  /** Whether a path without links, such as an entry of a folder that was located, may be read. */
  isReadable(real: string): Promise<boolean>;
  /**
   * Reads a regular file of at most 32 MiB as UTF-8 text.
   * @throws MortiseError `invalid_tool_input` (400): not allowed, missing, a folder, too large, or not text.
   */
  readText(path: string, access?: FileAccess): Promise<TextFile>;
  /** Runs one writer at a time, so that what it read is what it replaces. */
  exclusive<T>(run: () => Promise<T>): Promise<T>;
  /**
   * Writes all files or none, each as a whole; folders are made as needed. Call it within {@link exclusive}.
   * @returns what gives all of them their old content back
   * @throws what the file system answered, or the reason of the abort, after the files that were already written got their
   * old content back.
   */
  commit(changes: readonly FileChange[], signal?: AbortSignal): Promise<() => Promise<void>>;
}

declare module 'mortise/sdk' {
  interface Services {
    'workspace-files': WorkspaceFiles;
  }
}
