/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Offer the tool browser to agents. */
  readonly enabled: boolean;
  /** Folder of the browser agent, with its agent.js. */
  readonly agent_dir?: string;
}
