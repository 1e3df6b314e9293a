import type { ReconcileReport } from './build-report.js';

/** Five lines; a sixth where the backend was looked at. */
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

/** Every finding in a line, for those who want to know more. */
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
