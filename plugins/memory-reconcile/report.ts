import type { Invariant, OutboxStatus } from 'mortise/contracts/logbook';
import type { BackendCheck } from './backend/check-backend.js';
import type { ReconcileOptions } from './options.js';

/** A finding and its repair. */
export interface Detail {
  readonly outbox_id: number;
  readonly status: OutboxStatus | 'stale';
  readonly issue: 'missing_audit' | 'stale_lease';
  readonly expected_reason: string;
  readonly fixed: boolean;
  readonly audit_id: string | null;
  readonly error: string | null;
}

/** Counts of one status. */
export interface StatusCount {
  /** Rows examined. */
  readonly count: number;
  readonly missing_audit: number;
  readonly fixed: number;
}

/** Findings and repairs of one round. */
export interface Round {
  readonly scanned: number;
  readonly sent: StatusCount;
  readonly dead: StatusCount;
  readonly stale: StatusCount & { readonly rescheduled: number };
  readonly details: readonly Detail[];
}

/** Result of a reconciliation, as described by `schemas/reconcile_report_v1.schema.json`. */
export interface ReconcileReport {
  readonly ok: boolean;
  readonly exit_code: 0 | 1;
  readonly mode: 'repair' | 'report';
  readonly started_at: string;
  readonly finished_at: string;
  readonly correlation_id: string;
  readonly options: Readonly<Record<string, number | boolean>>;
  readonly total_scanned: number;
  readonly sent: Round['sent'];
  readonly dead: Round['dead'];
  readonly stale: Round['stale'];
  readonly pending_audits: { readonly count: number; readonly oldest_age_seconds: number | null };
  readonly invariants: readonly Invariant[];
  readonly backend: BackendCheck | null;
  readonly details: Round['details'];
}

interface ReconcileFacts {
  readonly options: ReconcileOptions;
  readonly startedAt: string;
  readonly correlationId: string;
  readonly round: Round;
  readonly pendingAudits: ReconcileReport['pending_audits'];
  readonly invariants: readonly Invariant[];
  readonly backend: BackendCheck | null;
}

/** Whether a finding was left unrepaired. */
function hasUnrepaired({ sent, dead, stale }: Round, backend: BackendCheck | null): boolean {
  const missing = [sent, dead, stale].some(({ missing_audit, fixed }) => fixed < missing_audit);
  return missing || (backend !== null && backend.repaired < backend.findings.length);
}

export function buildReport({ options, round, backend, ...facts }: ReconcileFacts): ReconcileReport {
  const isOk = !hasUnrepaired(round, backend);
  return {
    ok: isOk,
    exit_code: isOk ? 0 : 1,
    mode: options.fixes ? 'repair' : 'report',
    started_at: facts.startedAt,
    finished_at: new Date().toISOString(),
    correlation_id: facts.correlationId,
    options: {
      auto_fix: options.fixes,
      scan_window_hours: options.scanWindowHours,
      batch_size: options.batchSize,
      stale_threshold_seconds: options.staleThresholdSeconds,
      reschedule: options.reschedules,
      reschedule_delay_seconds: options.rescheduleDelaySeconds,
      until_clean: options.untilClean,
      check_backend: options.checksBackend,
      repair_backend: options.repairsBackend,
    },
    total_scanned: round.scanned,
    sent: round.sent,
    dead: round.dead,
    stale: round.stale,
    pending_audits: facts.pendingAudits,
    invariants: facts.invariants,
    backend,
    details: round.details,
  };
}

/** Five lines, and a sixth when the backend was compared. */
export function reportText({ total_scanned, sent, dead, stale, backend }: ReconcileReport): string {
  const lines = [
    '=== Outbox Reconcile Report ===',
    `Total scanned: ${total_scanned}`,
    `  - sent:  ${sent.count} (missing audit: ${sent.missing_audit}, fixed: ${sent.fixed})`,
    `  - dead:  ${dead.count} (missing audit: ${dead.missing_audit}, fixed: ${dead.fixed})`,
    `  - stale: ${stale.count} (missing audit: ${stale.missing_audit}, fixed: ${stale.fixed}, rescheduled: ${stale.rescheduled})`,
  ];
  if (backend !== null) {
    const { checked, missing, merged, altered, moved, extra } = backend;
    lines.push(
      `  - backend: ${checked} checked (missing: ${missing}, merged: ${merged}, altered: ${altered}, moved: ${moved}, extra: ${extra})`,
    );
  }
  return lines.join('\n');
}

/** One line per finding, for `--verbose`. */
export function reportDetails({ details, invariants, backend, pending_audits }: ReconcileReport): string {
  return [
    ...details.map(
      (one) => `outbox ${one.outbox_id} (${one.status}): ${one.issue}, ${one.fixed ? 'fixed' : 'not fixed'}`,
    ),
    ...(backend?.findings ?? []).map((one) => `memory ${one.memory_key ?? one.backend_id}: ${one.finding}`),
    ...invariants.filter(({ ok }) => !ok).map(({ id, left, right }) => `invariant ${id}: ${left} against ${right}`),
    `unsettled audit rows: ${pending_audits.count}`,
  ].join('\n');
}
