/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Address of the OpenMemory server, without credentials, query or fragment. */
  readonly base_url?: string;
  /** API key of the server. */
  readonly api_key?: string;
  /** HTTP interface of the server; auto detects it. */
  readonly dialect: 'auto' | 'search' | 'query';
}
