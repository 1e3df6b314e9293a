/** The database room: one logical database, two dialects, one behaviour. */
export { type DatabaseHost, type OpenOptions, openDatabase } from './open-database.js';
export type { DatabaseSettings } from './settings.js';
export type { StorageLoss } from './storage-watch.js';
