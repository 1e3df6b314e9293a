/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Key of the embedder whose vectors count as much as the words do; words alone when absent. */
  readonly embedder?: string;
}
