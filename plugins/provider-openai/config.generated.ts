/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** API key. Requests are refused without one. */
  readonly api_key?: string;
  /** Base URL of the API, without /chat/completions, credentials, query or fragment. */
  readonly base_url: string;
  /** Organization to bill, if the key belongs to several. */
  readonly organization?: string;
  /** Project to bill, if the key belongs to several. */
  readonly project?: string;
  /** Additional request headers; they override the adapter's own. */
  readonly headers: {
    readonly [k: string]: string;
  };
  /** Allowed models; an empty list allows any. */
  readonly models: readonly {
    readonly id: string;
    /** Context window in tokens. */
    readonly context?: number;
    /** Maximum output in tokens. */
    readonly output?: number;
  }[];
  /** Reasoning effort of reasoning models. Defaults to the API's own default. */
  readonly reasoning_effort?: 'minimal' | 'low' | 'medium' | 'high';
  /** The models accept images, audio and files in addition to text. */
  readonly attachments: boolean;
  /** Time limit in milliseconds of one response, including retries; 0 = no limit. */
  readonly timeout_ms: number;
  /** Maximum time in milliseconds between two chunks of a stream. */
  readonly idle_timeout_ms: number;
  /** Maximum number of retries of a request that failed before any part of the response arrived. */
  readonly max_retries: number;
}
