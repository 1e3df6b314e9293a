import type { Disposable } from '../context.js';

export interface NamedLease extends Disposable {
  readonly name: string;
  /** Grows with every holder: lets an outside system refuse an older one. */
  readonly epoch: number;
  /** Aborted when the lease is lost. */
  readonly signal: AbortSignal;
}

/** One holder per name over all processes on the database, renewed while held. */
export interface LeasesService {
  /** The lease, or null when someone else holds it. `ttlMs` defaults to 15,000. */
  tryAcquire(name: string, options?: { readonly ttlMs?: number }): Promise<NamedLease | null>;
}
