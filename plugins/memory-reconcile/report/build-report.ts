import type { Invariant } from 'mortise/contracts/logbook';
import type { BackendCheck } from '../backend/check-backend.js';
import type { Round } from '../books/findings.js';
import type { ReconcileOptions } from '../options.js';

/** What a reconciliation came to, as `schemas/reconcile_report_v1.schema.json` describes it. */
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

export interface ReconcileFacts {
  readonly options: ReconcileOptions;
  readonly startedAt: string;
  readonly correlationId: string;
  readonly round: Round;
  readonly pendingAudits: ReconcileReport['pending_audits'];
  readonly invariants: readonly Invariant[];
  readonly backend: BackendCheck | null;
}

/** Whether something that was found is still as it was. */
function isUnmended({ sent, dead, stale }: Round, backend: BackendCheck | null): boolean {
  const missing = [sent, dead, stale].some(({ missing_audit, fixed }) => fixed < missing_audit);
  return missing || (backend !== null && backend.repaired < backend.findings.length);
}

export function buildReport({ options, round, backend, ...facts }: ReconcileFacts): ReconcileReport {
  const isOk = !isUnmended(round, backend);
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
