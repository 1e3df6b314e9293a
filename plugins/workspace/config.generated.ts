/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Days after which uploaded files are deleted; 0 keeps them forever. */
  readonly upload_retention_days: number;
  /**
   * File with the tool guide, absolute or from the workspace. Inside of the workspace it may be read and written too.
   */
  readonly ai_tools_guide_path: string;
}
