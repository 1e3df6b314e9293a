/** The configuration of `config.schema.json`, defaults filled in. */
export interface LocalConfig {
  /** Key of the embedder that has a say in the order of hits; nobody when absent. */
  readonly embedder?: string;
}
