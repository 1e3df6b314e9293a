/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Key of the API. Nothing is sent without one. */
  readonly api_key?: string;
  /** Address of the API, up to what stands before /chat/completions; without credentials, query or fragment. */
  readonly base_url: string;
  /** Organisation that is billed, where the key belongs to several. */
  readonly organization?: string;
  /** Project that is billed, where the key belongs to several. */
  readonly project?: string;
  /** Headers beside those of the API; one of its own is overridden. */
  readonly headers: {
    readonly [k: string]: string;
  };
  /** The models that may be asked; any when the list is empty. */
  readonly models: readonly {
    readonly id: string;
    /** Tokens that the model can read. */
    readonly context?: number;
    /** Tokens that the model can write. */
    readonly output?: number;
  }[];
  /** How long a reasoning model may think; the API's own default when absent. */
  readonly reasoning_effort?: 'minimal' | 'low' | 'medium' | 'high';
  /** The models take images, sound and files beside text. */
  readonly attachments: boolean;
  /** How long one answer may take, retries included, milliseconds; 0 = no limit. */
  readonly timeout_ms: number;
  /** How long a stream may be silent, milliseconds. */
  readonly idle_timeout_ms: number;
  /** How often a request is repeated that failed before anything of its answer came. */
  readonly max_retries: number;
}
