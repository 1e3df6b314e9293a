import type { FetchGuard } from '../fetch/index.js';
import type { GuardedFetch } from '../sdk/host/fetch.js';

/** The way out of the process. Its client is large and few processes need it at once, so it is loaded with the first request. */
export interface LazyFetch {
  forHosts(patterns: readonly string[]): GuardedFetch;
  close(): Promise<void>;
}

export function createLazyFetch(options: { readonly allowPrivate: boolean }): LazyFetch {
  let guard: Promise<FetchGuard> | undefined;
  const load = (): Promise<FetchGuard> => {
    guard ??= import('../fetch/index.js').then(({ createFetchGuard }) => createFetchGuard(options));
    return guard;
  };
  return {
    forHosts: (patterns) => async (url, init) => (await load()).forHosts(patterns)(url, init),
    close: async () => (await guard)?.close(),
  };
}
