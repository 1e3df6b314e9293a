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
  /** Grows with every new configuration in force. */
  readonly revision: number;
  readonly source: 'file' | 'defaults';
  /** Hex SHA-256 of the file in force; null without one. */
  readonly sha256: string | null;
  /** ISO 8601. */
  readonly loadedAt: string;
  /** The file has gone; its last good state is in force. */
  readonly gone: boolean;
  /** Why the file as it is now is not in force. */
  readonly lastError: { readonly at: string; readonly message: string; readonly sha256: string | null } | null;
}

/** Absolute paths of the platform itself, for tools that open files for a model. */
export interface GuardedPaths {
  /** Neither read nor written: data directory, database, env file, secrets. */
  readonly hidden: readonly string[];
  /** Never written: configuration, `plugins.json`, plugins, the build. */
  readonly readOnly: readonly string[];
}

/** Values of the host that plugins may read. */
export interface SettingsService {
  readonly projectKey: string;
  readonly dataDir: string;
  readonly workspaceDir: string;
  readonly version: string;
  readonly guardedPaths: GuardedPaths;
  /** Of this plugin's configuration; undefined when it has none, or none that was ever valid. */
  configStatus(): ConfigStatus | undefined;
  /** Looks at this plugin's configuration file at once. */
  reload(): Promise<{ readonly changed: boolean; readonly revision: number; readonly error: string | null }>;
  /** Every effective value with its source. */
  effective(owner?: string): readonly EffectiveValue[];
}
