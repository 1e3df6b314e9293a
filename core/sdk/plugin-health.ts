/** What a plugin says of itself when it is asked. */
export interface PluginHealth {
  readonly ok: boolean;
  /** One short sentence. */
  readonly detail?: string;
}
