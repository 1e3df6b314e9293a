/** The health that a plugin reports. */
export interface PluginHealth {
  readonly ok: boolean;
  /** One short sentence. */
  readonly detail?: string;
  /** What to do about it. */
  readonly hint?: string;
}
