/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Key of the embedder whose vectors are weighted like the words; hits are ordered by words only when absent. */
  readonly embedder?: string;
}
