import { randomBytes } from 'node:crypto';
import type { Alert, LeasesService } from 'mortise/sdk';
import { defaultOptions } from './options.js';
import type { ReconcileParts } from './parts.js';
import { reconcile } from './reconcile.js';

const LEASE = 'memory-reconcile:round';
const LEASE_MS = 30_000;

export interface Schedule {
  readonly leases: LeasesService;
  /** Tells who watches over the platform. */
  raise(alert: Alert): void;
}

/** One reconciliation that nobody asked for, in one process at a time. */
export async function reconcileOnSchedule(
  parts: ReconcileParts,
  { leases, raise }: Schedule,
  signal: AbortSignal,
): Promise<void> {
  const lease = await leases.tryAcquire(LEASE, { ttlMs: LEASE_MS });
  if (lease === null) return;
  const either = AbortSignal.any([signal, lease.signal]);
  try {
    const correlationId = `corr-${randomBytes(8).toString('hex')}`;
    const report = await reconcile({ ...defaultOptions, untilClean: true }, { correlationId, signal: either }, parts);
    const { sent, dead, stale, invariants } = report;
    if (report.details.length > 0) parts.log.warn({ sent, dead, stale, correlationId }, 'The outbox was reconciled.');
    const broken = invariants.filter(({ ok }) => !ok);
    if (broken.length === 0) return;
    parts.log.error(
      { event: 'gateway.invariant_violation', invariants: broken, correlationId },
      'The books do not agree.',
    );
    raise({
      source: 'memory-reconcile:invariants',
      severity: 'high',
      code: 'gateway.invariant_violation',
      message: `The books do not agree: ${broken.map(({ id, left, right }) => `${id} (${left} against ${right})`).join(', ')}.`,
      data: { invariants: broken },
    });
  } catch (error) {
    if (!either.aborted) parts.log.warn({ err: error }, 'The outbox could not be reconciled this time.');
  } finally {
    await lease.dispose();
  }
}
