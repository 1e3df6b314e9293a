/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Key of the API; a local server may need none. */
  readonly api_key?: string;
  /** Base address of the API, without /embeddings, credentials, query and fragment. */
  readonly base_url: string;
  /** Name of the model. */
  readonly model: string;
  /** Dimensions of the model's vectors. */
  readonly dimensions: number;
  /** Asks the server for vectors of this length; only some models can shorten them. */
  readonly send_dimensions: boolean;
  /** Maximum texts in one request. */
  readonly batch_size: number;
  /** Longer texts are cut. */
  readonly max_input_characters: number;
  /** Retries of a request after a transient failure. */
  readonly max_retries: number;
}
