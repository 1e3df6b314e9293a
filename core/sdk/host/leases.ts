import type { Disposable } from '../context.js';

/** A held lease. Disposing releases it immediately, so that the next holder need not wait for its expiry. */
export interface NamedLease extends Disposable {
  readonly name: string;
  /** Increases with every holder, so that an external system can reject an older one. */
  readonly epoch: number;
  /** Aborted when the lease is lost or expires because it could not be renewed. */
  readonly signal: AbortSignal;
}

/** One holder per name across all processes on the database; a held lease is renewed after each third of its TTL. */
export interface LeasesService {
  /**
   * The lease, or null when it is already held, by this process or another. `ttlMs` defaults to 15,000 and is the
   * longest time that a dead holder blocks others. Prefix the name with the plugin's key: `cron:ticker`.
   */
  tryAcquire(name: string, options?: { readonly ttlMs?: number }): Promise<NamedLease | null>;
}
