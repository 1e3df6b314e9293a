/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Key of the API. Without one no request is sent. */
  readonly api_key?: string;
  /** Base address of the API, without /chat/completions, credentials, query and fragment. */
  readonly base_url: string;
  /** Organization to bill, for keys with several of them. */
  readonly organization?: string;
  /** Project to bill, for keys with several of them. */
  readonly project?: string;
  /** Additional headers, which override those of the API. */
  readonly headers: {
    readonly [k: string]: string;
  };
  /** The allowed models; all when the list is empty. */
  readonly models: readonly {
    readonly id: string;
    /** Context window in tokens. */
    readonly context?: number;
    /** Maximum output in tokens. */
    readonly output?: number;
  }[];
  /** Effort of reasoning models; the API's default when absent. */
  readonly reasoning_effort?: 'minimal' | 'low' | 'medium' | 'high';
  /** Whether the models accept images, audio and files. */
  readonly attachments: boolean;
}
