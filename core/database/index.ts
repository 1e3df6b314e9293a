/** One logical database on two dialects, with the same behaviour. */
export { type DatabaseHost, type OpenOptions, openDatabase } from './open-database.js';
export type { DatabaseSettings } from './settings.js';
export type { StorageLoss } from './storage-watch.js';
