/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Address of the OpenMemory server, without credentials, query or fragment. */
  readonly base_url?: string;
  /** Key that the server asks for. */
  readonly api_key?: string;
  /** Which HTTP interface the server has; auto finds out. */
  readonly dialect: 'auto' | 'search' | 'query';
}
