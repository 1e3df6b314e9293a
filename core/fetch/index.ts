/** Outbound requests of plugins: only to hosts in their manifest, and never to private addresses from untrusted input. */

export type { Resolve } from './addresses.js';
export { createFetchGuard, type FetchGuard, type FetchGuardOptions } from './guarded-fetch.js';
