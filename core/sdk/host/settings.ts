export interface EffectiveValue {
  /** `<plugin or host>.<property path>` */
  readonly name: string;
  readonly owner: string;
  /** Masked when secret. */
  readonly value: unknown;
  /** Where it came from. */
  readonly source: 'default' | 'file' | 'environment' | 'secret';
  /** File name below the project, or the environment variable. */
  readonly origin: string | null;
  readonly secret: boolean;
}

/** The state of a plugin's own configuration file. */
export interface ConfigStatus {
  /** Absolute. */
  readonly path: string;
  /** Increases with every configuration that takes effect. */
  readonly revision: number;
  readonly source: 'file' | 'defaults';
  /** Hex SHA-256 of the file in effect; null without one. */
  readonly sha256: string | null;
  /** ISO 8601. */
  readonly loadedAt: string;
  /** The file was removed; its last valid content is in effect. */
  readonly gone: boolean;
  /** Why the current file is not in effect. */
  readonly lastError: { readonly at: string; readonly message: string; readonly sha256: string | null } | null;
}

/** Absolute paths of the platform's own files, for tools that open files for a model. */
export interface GuardedPaths {
  /** Must be neither read nor written: data directory, database, env file, configuration, secrets. */
  readonly hidden: readonly string[];
  /** Must not be written: `plugins.json`, plugins, the build. */
  readonly readOnly: readonly string[];
}

/** Values of the host that plugins may read. */
export interface SettingsService {
  readonly projectKey: string;
  readonly dataDir: string;
  readonly workspaceDir: string;
  readonly version: string;
  readonly guardedPaths: GuardedPaths;
  /** State of this plugin's configuration; undefined when there was never a valid one. */
  configStatus(): ConfigStatus | undefined;
  /** Reads this plugin's configuration file immediately. */
  reload(): Promise<{ readonly changed: boolean; readonly revision: number; readonly error: string | null }>;
  /** Every effective value with its source. */
  effective(owner?: string): readonly EffectiveValue[];
}
