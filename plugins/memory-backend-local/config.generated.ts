/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /**
   * Key of the embedder whose vectors count as much as the words in the ranking. Without one, hits are ranked by words only.
   */
  readonly embedder?: string;
}
