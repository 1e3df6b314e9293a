/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Model of chats without one of their own, as provider/model: openai/gpt-4o-mini. Defaults to the demo model. */
  readonly model?: string;
  /**
   * What happens to earlier turns that exceed the model's context: summarised (auto), omitted (window) or sent anyway (off).
   */
  readonly compaction: 'auto' | 'window' | 'off';
  /** Maximum number of model calls in one turn. */
  readonly maxSteps: number;
  /** Time limit of a turn in seconds; 0 = no limit. */
  readonly turnTimeoutSeconds: number;
  /** Maximum number of turns queued behind the running one of a session. */
  readonly queueLimit: number;
  /** How long a turn may wait for its session, in seconds. */
  readonly queueWaitSeconds: number;
  /** Time limit in seconds of tools that declare none. */
  readonly toolTimeoutSeconds: number;
  /** Names of disabled tools. */
  readonly disabledTools: readonly string[];
}
