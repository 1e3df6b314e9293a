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

/** Values of the host that plugins may read. */
export interface SettingsService {
  readonly projectKey: string;
  readonly dataDir: string;
  readonly workspaceDir: string;
  readonly version: string;
  /** Every effective value with its source. */
  effective(owner?: string): readonly EffectiveValue[];
}
