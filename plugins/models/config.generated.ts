/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Model of requests without one while no active model is set, as provider/model. Defaults to the demo model. */
  readonly model?: string;
  /** Models, as provider/model, that are tried in order when a turn's model fails before its first output. */
  readonly fallbacks: readonly string[];
  /** JSON file that extends the built-in model catalogue; relative to the working directory. */
  readonly catalogue?: string;
}
