/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Whether turns have a layer with the memories that match their message. */
  readonly enabled: boolean;
  /**
   * Spaces that are searched, as far as the caller may use them. {user} is the user of the session, {project} the project.
   */
  readonly spaces: readonly string[];
  /** Maximum size of the layer, in estimated tokens. */
  readonly token_budget: number;
  /** Maximum time in milliseconds that a turn waits for memories. */
  readonly time_limit_ms: number;
  /** Maximum number of memories. */
  readonly most: number;
  /** Memories with a lower score are left out; 0 to 1. */
  readonly min_score: number;
}
