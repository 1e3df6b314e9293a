/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Folder with tokenizer.json and the model, as published for Transformers.js. Relative to the working directory. */
  readonly model_folder?: string;
  /** The ONNX file, relative to the folder; a quantised one is smaller and faster. */
  readonly model_file: string;
  /** How the vectors of the tokens become one: their mean, that of the first token, or that of the last one. */
  readonly pooling: 'mean' | 'first' | 'last';
  /** Text that the model expects before a query, such as "query: ". */
  readonly query_prefix: string;
  /** Text that the model expects before a document, such as "passage: ". */
  readonly document_prefix: string;
  /** Longer texts are cut. */
  readonly max_tokens: number;
  /** Threads that compute one vector. */
  readonly threads: number;
}
