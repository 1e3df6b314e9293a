import { randomBytes } from 'node:crypto';
import type { Alert, LeasesService } from 'mortise/sdk';
import { reconcileAudit } from './audit/round.js';
import { checkBackend } from './backend/check-backend.js';
import { defaultOptions, type ReconcileDeps, type ReconcileOptions } from './options.js';
import { buildReport, type ReconcileReport } from './report.js';

interface ReconcileCall {
  readonly correlationId: string;
  readonly signal: AbortSignal;
}

/** Compares outbox, audit trail and, on request, the backend, and builds the report. */
export async function reconcile(
  options: ReconcileOptions,
  { correlationId, signal }: ReconcileCall,
  deps: ReconcileDeps,
): Promise<ReconcileReport> {
  const { logbook } = deps;
  const startedAt = new Date().toISOString();
  const round = await reconcileAudit(options, deps, signal);
  const backend = options.checksBackend ? await checkBackend(deps, { repairs: options.repairsBackend, signal }) : null;
  const { count, oldestAgeSeconds } = await logbook.reconcile.pendingAudits(correlationId);
  const { invariants } = await logbook.reliability.figures();
  return buildReport({
    options,
    startedAt,
    correlationId,
    round,
    pendingAudits: { count, oldest_age_seconds: oldestAgeSeconds },
    invariants: [...invariants, ...(await logbook.reconcile.invariants())],
    backend,
  });
}

const LEASE = 'memory-reconcile:round';
const LEASE_MS = 30_000;

interface Schedule {
  readonly leases: LeasesService;
  /** Raises an alert. */
  raise(alert: Alert): void;
}

/** One scheduled reconciliation, in one process at a time. */
export async function reconcileOnSchedule(
  deps: ReconcileDeps,
  { leases, raise }: Schedule,
  signal: AbortSignal,
): Promise<void> {
  const lease = await leases.tryAcquire(LEASE, { ttlMs: LEASE_MS });
  if (lease === null) return;
  const stopSignal = AbortSignal.any([signal, lease.signal]);
  try {
    const correlationId = `corr-${randomBytes(8).toString('hex')}`;
    const report = await reconcile(
      { ...defaultOptions, untilClean: true },
      { correlationId, signal: stopSignal },
      deps,
    );
    const { sent, dead, stale, invariants } = report;
    if (report.details.length > 0)
      deps.log.warn({ sent, dead, stale, correlationId }, 'outbox and audit trail were reconciled');
    const broken = invariants.filter(({ ok }) => !ok);
    if (broken.length === 0) return;
    deps.log.error(
      { event: 'gateway.invariant_violation', invariants: broken, correlationId },
      'an invariant of outbox and audit trail is violated',
    );
    raise({
      source: 'memory-reconcile:invariants',
      severity: 'high',
      code: 'gateway.invariant_violation',
      message: `Outbox and audit trail disagree: ${broken.map(({ id, left, right }) => `${id} (${left} against ${right})`).join(', ')}.`,
      data: { invariants: broken },
    });
  } catch (error) {
    if (!stopSignal.aborted) deps.log.warn({ err: error }, 'the scheduled reconciliation failed');
  } finally {
    await lease.dispose();
  }
}
