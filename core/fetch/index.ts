/** Requests of plugins to the outside: only to hosts their manifest lists, and never inwards on a stranger's word. */

export type { Resolve } from './addresses.js';
export { createFetchGuard, type FetchGuard, type FetchGuardOptions } from './guarded-fetch.js';
