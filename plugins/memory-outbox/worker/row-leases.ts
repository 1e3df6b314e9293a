import type { Disposable } from 'mortise/sdk';
import type { OutboxDeps } from '../outbox-deps.js';
import type { Attempt } from './attempt.js';
import { type ClaimedAttempt, claimBatch } from './claim.js';

/** Share of a lease that must remain when a call starts. */
const MIN_LEASE_SHARE = 0.5;
/** Renewals that one call waits for. After a slow renewal, too little of the lease may be left. */
const MAX_RENEWALS = 3;
/** Reconciliation frees older leases, regardless of the configured length. */
const MAX_LEASE_SECONDS = 600;

const idOf = ({ row }: Attempt): number => row.outboxId;

/**
 * The rows that a worker holds, and until when. A suspended process is not notified when its leases expire and another
 * worker takes its rows over. So each lease is timed on a monotonic clock from before the claiming or renewing statement
 * was sent, and the backend is called only for rows with enough of it left.
 */
export class RowLeases {
  readonly #deps: OutboxDeps;
  readonly #workerId: string;
  readonly #leaseMs: number;
  /** By outbox id, monotonic milliseconds. */
  readonly #heldUntil = new Map<number, number>();
  /** Outbox ids of each running call, by its abort controller. */
  readonly #calls = new Map<AbortController, readonly number[]>();
  #timer: Disposable | undefined;
  #renewal: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: OutboxDeps, workerId: string) {
    this.#deps = deps;
    this.#workerId = workerId;
    this.#leaseMs = Math.min(deps.config.lease_seconds, MAX_LEASE_SECONDS) * 1_000;
  }

  /**
   * Leases due rows and renews them from now on.
   *
   * @param running running attempts: their rows are not claimed again, even after a lost lease, so that an old attempt is
   *   never mistaken for a new one
   */
  async claim(batchSize: number, running: readonly Attempt[]): Promise<readonly ClaimedAttempt[]> {
    const wanted = { workerId: this.#workerId, batchSize, except: running.map(idOf) };
    const until = this.#deps.now() + this.#leaseMs;
    const attempts = await claimBatch(wanted, this.#deps);
    for (const attempt of attempts) this.#heldUntil.set(idOf(attempt), until);
    if (attempts.length > 0) this.#timer ??= this.#deps.every(this.#leaseMs / 3, () => this.renew());
    return attempts;
  }

  /**
   * Calls the backend for the rows whose leases are safe. The signal aborts the call when one of them is lost.
   * @returns undefined, without a call, when none is held
   */
  async whileHeld<A extends Attempt, T>(
    attempts: readonly A[],
    call: (held: readonly A[], signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    for (let tries = 0; tries < MAX_RENEWALS && attempts.some((attempt) => this.#isExpiring(attempt)); tries += 1) {
      await this.renew();
    }
    const held = attempts.filter((attempt) => this.#heldUntil.has(idOf(attempt)) && !this.#isExpiring(attempt));
    if (held.length === 0 || this.#isClosed) return undefined;
    const controller = new AbortController();
    this.#calls.set(controller, held.map(idOf));
    try {
      return await call(held, controller.signal);
    } finally {
      this.#calls.delete(controller);
    }
  }

  /** Extends all leases. Lost rows are dropped. */
  renew(): Promise<void> {
    this.#renewal ??= this.#renewAll().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  /** Stops renewing these leases: their rows are settled or released, or the leases are to expire. */
  drop(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) this.#heldUntil.delete(idOf(attempt));
  }

  /** Aborts running work and prevents new work. The leases expire, and the worker that takes them over checks the backend first. */
  close(): void {
    this.#isClosed = true;
    for (const controller of this.#calls.keys()) controller.abort();
    this.pauseRenewal();
  }

  /** Stops renewing until the next claim. */
  pauseRenewal(): void {
    void this.#timer?.dispose();
    this.#timer = undefined;
  }

  #isExpiring(attempt: Attempt): boolean {
    const until = this.#heldUntil.get(idOf(attempt));
    return until !== undefined && until - this.#deps.now() < this.#leaseMs * MIN_LEASE_SHARE;
  }

  async #renewAll(): Promise<void> {
    const { log, logbook } = this.#deps;
    const ids = [...this.#heldUntil.keys()];
    if (ids.length === 0) return;
    const until = this.#deps.now() + this.#leaseMs;
    let renewed: ReadonlySet<number> = new Set();
    try {
      renewed = await logbook.outbox.renewLeases(ids, this.#workerId);
    } catch (error) {
      log.warn({ err: error, rows: ids.length }, 'leases could not be renewed');
    }
    // Rows settled or released meanwhile are neither held nor lost.
    const held = ids.filter((id) => this.#heldUntil.has(id));
    for (const id of held.filter((one) => renewed.has(one))) this.#heldUntil.set(id, until);
    this.#dropLost(held.filter((one) => !renewed.has(one)));
  }

  #dropLost(lost: readonly number[]): void {
    if (lost.length === 0) return;
    this.#deps.log.warn({ rows: lost }, 'leases were lost; their calls are aborted');
    for (const id of lost) this.#heldUntil.delete(id);
    for (const [controller, ids] of this.#calls) if (ids.some((id) => lost.includes(id))) controller.abort();
  }
}
