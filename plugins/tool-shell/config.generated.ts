/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** bwrap runs commands in a namespace: a read-only system, a writable workspace, no data directory. */
  readonly sandbox: 'off' | 'bwrap';
  /** Maximum number of processes of one command (Linux). */
  readonly process_limit: number;
}
