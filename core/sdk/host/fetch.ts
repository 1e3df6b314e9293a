export interface GuardedFetchOptions extends RequestInit {
  /** Set when the URL comes from a user or a model: private, loopback, link-local and metadata addresses are refused. */
  readonly untrusted?: boolean;
}

/**
 * `fetch` that only reaches the hosts of the manifest's `permissions.network`. Redirects are checked again.
 * @throws MortiseError `network_denied`.
 */
export type GuardedFetch = (url: string | URL, options?: GuardedFetchOptions) => Promise<Response>;
