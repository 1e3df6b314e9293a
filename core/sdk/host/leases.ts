import type { Disposable } from '../context.js';

/** A held lease. Disposing gives it back at once, so that the next holder need not wait for its end. */
export interface NamedLease extends Disposable {
  readonly name: string;
  /** Grows with every holder: lets an outside system refuse an older one. */
  readonly epoch: number;
  /** Aborted when the lease is lost, or could not be renewed until it ran out. */
  readonly signal: AbortSignal;
}

/** One holder per name over all processes on the database, renewed every third of its life while held. */
export interface LeasesService {
  /**
   * The lease, or null when someone else holds it (this process included). `ttlMs` defaults to 15,000 and is the
   * longest time that a dead holder keeps others out. Prefix the name with the plugin's key: `cron:ticker`.
   */
  tryAcquire(name: string, options?: { readonly ttlMs?: number }): Promise<NamedLease | null>;
}
