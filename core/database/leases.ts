import { randomUUID } from 'node:crypto';
import type { Disposable, Logger } from '../sdk/context.js';
import type { Database } from '../sdk/host/database.js';
import type { LeasesService, NamedLease } from '../sdk/host/leases.js';
import { shortReason } from './errors.js';

const defaultTtlMs = 15_000;

/** Named leases in a table: the row lock decides between claimers, and the database's clock determines expiry. */
export function leaseService(database: Database, log: Logger): LeasesService & Disposable {
  const held = new Set<NamedLease>();
  const now = database.now.millis;

  return {
    async tryAcquire(name, { ttlMs = defaultTtlMs } = {}) {
      if (!Number.isFinite(ttlMs) || ttlMs < 1) throw new RangeError('A lease lasts at least one millisecond.');
      const holder = randomUUID();
      const askedAt = performance.now();
      const { rows } = await database.statement<{ epoch: number }>(
        `insert into {mortise.leases} as lease (name, holder, epoch, expires_at) values (?, ?, 1, ${now} + ?)
         on conflict (name) do update set holder = excluded.holder, epoch = lease.epoch + 1, expires_at = ${now} + ?
         where lease.holder is null or lease.expires_at <= ${now}
         returning epoch`,
        [name, holder, ttlMs, ttlMs],
      );
      const epoch = rows[0]?.epoch;
      if (epoch === undefined) return null;
      const lease = heldLease(database, log, { name, holder, epoch, ttlMs, askedAt }, () => held.delete(lease));
      held.add(lease);
      return lease;
    },
    async dispose() {
      await Promise.all([...held].map((lease) => lease.dispose()));
    },
  };
}

interface HeldFacts {
  readonly name: string;
  readonly holder: string;
  readonly epoch: number;
  readonly ttlMs: number;
  /** Monotonic time before the lease was requested: it expires at `askedAt + ttlMs` at the latest. */
  readonly askedAt: number;
}

/** Renews every third of the life; aborts when another process took it over, or when it could not be renewed in time. */
function heldLease(database: Database, log: Logger, facts: HeldFacts, released: () => void): NamedLease {
  const { name, holder, epoch, ttlMs } = facts;
  const lost = new AbortController();
  let safeUntil = facts.askedAt + ttlMs;
  let timer: NodeJS.Timeout | undefined;
  let deadline: NodeJS.Timeout | undefined;
  let renewing: Promise<void> = Promise.resolve();
  let over = false;

  const lose = (reason: string): void => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    clearTimeout(deadline);
    released();
    log.warn({ lease: name, epoch, reason }, 'A lease was lost');
    lost.abort(new Error(`The lease ${name} was lost: ${reason}`));
  };

  const renew = async (): Promise<void> => {
    const askedAt = performance.now();
    try {
      const { changes } = await database.statement(
        `update {mortise.leases} set expires_at = ${database.now.millis} + ? where name = ? and holder = ?`,
        [ttlMs, name, holder],
      );
      if (changes === 0) return lose('another process took it over');
      safeUntil = askedAt + ttlMs;
    } catch (error) {
      log.debug({ lease: name, reason: shortReason(error) }, 'A lease could not be renewed');
    }
    schedule();
  };

  const schedule = (): void => {
    if (over) return;
    clearTimeout(deadline);
    const left = safeUntil - performance.now();
    deadline = setTimeout(() => lose('it could not be renewed in time'), Math.max(left, 0));
    timer = setTimeout(() => {
      renewing = renew();
    }, ttlMs / 3);
    deadline.unref();
    timer.unref();
  };
  schedule();

  return {
    name,
    epoch,
    signal: lost.signal,
    async dispose() {
      if (over) return;
      over = true;
      clearTimeout(timer);
      clearTimeout(deadline);
      released();
      await renewing;
      try {
        await database.statement(
          'update {mortise.leases} set holder = null, expires_at = null where name = ? and holder = ?',
          [name, holder],
        );
      } catch (error) {
        log.debug({ lease: name, reason: shortReason(error) }, 'A lease could not be released and will expire');
      }
    },
  };
}
