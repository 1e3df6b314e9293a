/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Whether turns get a layer with the memories that match their message. */
  readonly enabled: boolean;
  /**
   * Spaces that are searched, as far as the caller may use them. {user} is the user of the session, {project} the project.
   */
  readonly spaces: readonly string[];
  /** Largest size of the layer, in estimated tokens. */
  readonly token_budget: number;
  /** How long a turn waits for memories, milliseconds. */
  readonly time_limit_ms: number;
  /** Largest number of memories. */
  readonly most: number;
  /** Memories with a lower score are left out; 0 to 1. */
  readonly min_score: number;
}
