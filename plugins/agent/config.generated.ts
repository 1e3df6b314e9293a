/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /**
   * The model that answers where a chat has chosen none, as provider/model: openai/gpt-4o-mini. The demo when absent.
   */
  readonly model?: string;
  /** What becomes of earlier turns that the model has no room for: left out (window), or sent all the same (off). */
  readonly compaction: 'window' | 'off';
  /** Model calls in one turn. */
  readonly maxSteps: number;
  /** How long a turn may take; 0 = as long as it likes. */
  readonly turnTimeoutSeconds: number;
  /** Turns that may wait behind the running one of a session. */
  readonly queueLimit: number;
  /** How long a turn may wait for its session. */
  readonly queueWaitSeconds: number;
  /** How long a tool may take that declares no limit of its own. */
  readonly toolTimeoutSeconds: number;
  /** Names of tools that nobody is offered. */
  readonly disabledTools: readonly string[];
}
