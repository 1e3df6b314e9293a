/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Tells every live session of each tick. */
  readonly fanOut: boolean;
  /** Whether overrides outlive the process: memory or sql. On PostgreSQL processes share them in any case. */
  readonly persistence: 'memory' | 'sql';
}
