/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Offer the tool search to agents. */
  readonly enabled: boolean;
  /** The service of calls that name none; the first one with a key when absent. */
  readonly default_provider?: 'serpapi' | 'tavily' | 'brave';
  /** Key of the service serpapi. */
  readonly serpapi_key?: string;
  /** Address of the service serpapi. */
  readonly serpapi_base_url: string;
  /** Key of the service tavily. */
  readonly tavily_key?: string;
  /** Address of the service tavily. */
  readonly tavily_base_url: string;
  /** Key of the service brave. */
  readonly brave_key?: string;
  /** Address of the service brave. */
  readonly brave_base_url: string;
}
