import type { Disposable } from 'mortise/sdk';
import type { Attempt } from '../flush/flush-audit.js';
import type { OutboxParts } from '../parts.js';
import { type ClaimedAttempt, claimBatch } from './claim-batch.js';

/** Share of a lease that must be left when a call begins. */
const ENOUGH = 0.5;
/** Renewals that one call waits for: one that took too long itself leaves too little. */
const MOST_RENEWALS = 3;
/** Rows whose lease is older are freed by the scheduled reconciliation, however long the lease was to be. */
const LONGEST_LEASE_SECONDS = 600;

const idOf = ({ row }: Attempt): number => row.outboxId;

/**
 * The rows that a worker holds, and until when each is surely its own. A process that stood still learns of it from
 * nobody, and meanwhile another may have taken its rows over and sent them. So the time is counted on a clock that
 * nobody sets, from before the statement that claimed or renewed the row was sent, and the backend is called only for
 * rows that have enough of it left.
 */
export class RowLeases {
  readonly #parts: OutboxParts;
  readonly #workerId: string;
  readonly #leaseMs: number;
  /** By outbox id, on the clock of the parts. */
  readonly #heldUntil = new Map<number, number>();
  /** The rows of each call that runs, and how to break it off. */
  readonly #calls = new Map<AbortController, readonly number[]>();
  #timer: Disposable | undefined;
  #renewal: Promise<void> | undefined;
  #isOver = false;

  constructor(parts: OutboxParts, workerId: string) {
    this.#parts = parts;
    this.#workerId = workerId;
    this.#leaseMs = Math.min(parts.config.lease_seconds, LONGEST_LEASE_SECONDS) * 1_000;
  }

  /**
   * Leases due rows and keeps them leased from now on.
   *
   * @param inWork attempts that have not ended: their rows are not claimed again, also where the lease was lost, or an
   *   old attempt could pass for the new one.
   */
  async claim(batchSize: number, inWork: readonly Attempt[]): Promise<readonly ClaimedAttempt[]> {
    const wanted = { workerId: this.#workerId, batchSize, except: inWork.map(idOf) };
    const until = this.#parts.now() + this.#leaseMs;
    const attempts = await claimBatch(wanted, this.#parts);
    for (const attempt of attempts) this.#heldUntil.set(idOf(attempt), until);
    if (attempts.length > 0) this.#timer ??= this.#parts.every(this.#leaseMs / 3, () => this.renew());
    return attempts;
  }

  /**
   * Calls the backend for those of the rows that are surely held for a while. The signal breaks the call off when one of
   * them is lost. @returns undefined, without a call, when none is held.
   */
  async whileHeld<A extends Attempt, T>(
    attempts: readonly A[],
    call: (held: readonly A[], signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    for (let tries = 0; tries < MOST_RENEWALS && attempts.some((attempt) => this.#runsShort(attempt)); tries += 1) {
      await this.renew();
    }
    const held = attempts.filter((attempt) => this.#heldUntil.has(idOf(attempt)) && !this.#runsShort(attempt));
    if (held.length === 0 || this.#isOver) return undefined;
    const breaker = new AbortController();
    this.#calls.set(breaker, held.map(idOf));
    try {
      return await call(held, breaker.signal);
    } finally {
      this.#calls.delete(breaker);
    }
  }

  /** Longer leases for all that is held. What is not the worker's any more is let go. */
  renew(): Promise<void> {
    this.#renewal ??= this.#renewAll().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  /** Keeps these no longer: they are settled, given back, or left to run out. */
  drop(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) this.#heldUntil.delete(idOf(attempt));
  }

  /** Breaks off what runs, and lets nothing begin. Leases run out, and whoever takes them over looks first. */
  close(): void {
    this.#isOver = true;
    for (const breaker of this.#calls.keys()) breaker.abort();
    this.rest();
  }

  /** Renews nothing until the next claim. */
  rest(): void {
    void this.#timer?.dispose();
    this.#timer = undefined;
  }

  #runsShort(attempt: Attempt): boolean {
    const until = this.#heldUntil.get(idOf(attempt));
    return until !== undefined && until - this.#parts.now() < this.#leaseMs * ENOUGH;
  }

  async #renewAll(): Promise<void> {
    const { log, logbook } = this.#parts;
    const ids = [...this.#heldUntil.keys()];
    if (ids.length === 0) return;
    const until = this.#parts.now() + this.#leaseMs;
    let renewed: ReadonlySet<number> = new Set();
    try {
      renewed = await logbook.outbox.renewLeases(ids, this.#workerId);
    } catch (error) {
      log.warn({ err: error, rows: ids.length }, 'Leases could not be renewed.');
    }
    // What was settled or given back meanwhile is neither held nor lost.
    const held = ids.filter((id) => this.#heldUntil.has(id));
    for (const id of held.filter((one) => renewed.has(one))) this.#heldUntil.set(id, until);
    this.#lose(held.filter((one) => !renewed.has(one)));
  }

  #lose(lost: readonly number[]): void {
    if (lost.length === 0) return;
    this.#parts.log.warn({ rows: lost }, 'Leases were lost; their rows are not sent, and their calls are broken off.');
    for (const id of lost) this.#heldUntil.delete(id);
    for (const [breaker, ids] of this.#calls) if (ids.some((id) => lost.includes(id))) breaker.abort();
  }
}
