/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Broadcasts each tick to every live session. */
  readonly fanOut: boolean;
  /** Where overrides are stored: memory, or sql to survive a restart. On PostgreSQL, processes always share them. */
  readonly persistence: 'memory' | 'sql';
}
