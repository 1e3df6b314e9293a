/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** More absolute folders that the tools may read and write, separated like PATH; * for the whole machine. */
  readonly file_roots: string;
}
