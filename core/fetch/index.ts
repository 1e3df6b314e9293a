/** Requests of plugins to the outside: only to hosts their manifest lists, and never inwards on a stranger's word. */
export { createFetchGuard, type FetchGuard, type FetchGuardOptions } from './guarded-fetch.js';
export type { Resolve } from './pinned-lookup.js';
