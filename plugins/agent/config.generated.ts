/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** The model of chats that have chosen none, as provider/model: openai/gpt-4o-mini. The demo model when absent. */
  readonly model?: string;
  /**
   * What happens to earlier turns that do not fit into the model's context: left out (window), or sent anyway (off).
   */
  readonly compaction: 'window' | 'off';
  /** Model calls in one turn. */
  readonly maxSteps: number;
  /** How long a turn may take; 0 = no limit. */
  readonly turnTimeoutSeconds: number;
  /** Turns that may wait behind the running one of a session. */
  readonly queueLimit: number;
  /** How long a turn may wait for its session. */
  readonly queueWaitSeconds: number;
  /** Time limit of tools that declare none. */
  readonly toolTimeoutSeconds: number;
  /** Names of tools that are switched off. */
  readonly disabledTools: readonly string[];
}
