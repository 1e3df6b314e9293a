import type { Database, TransactionOption } from 'mortise/sdk';
import { type AuditGroup, countBy, countRows } from './audit-groups.js';

const actions = ['allow', 'redirect', 'reject'];

function reasonClass({ reason }: AuditGroup): string {
  const text = reason ?? '';
  if (text.startsWith('policy:')) return 'policy';
  if (text.toLowerCase().startsWith('openmemory_write_failed:')) return 'openmemory_write_failed';
  return text === 'outbox_flush_success' || text === 'dedup_hit' ? text : 'other';
}

export interface AuditStats {
  readonly allow: number;
  readonly redirect: number;
  readonly reject: number;
  /** Of all rows, whatever their action. */
  readonly total: number;
  readonly [figure: string]: unknown;
}

/** How the writes were decided. */
export async function auditStats(
  database: Database,
  groups: readonly AuditGroup[],
  dayAgo: string,
  options: TransactionOption,
): Promise<AuditStats> {
  const byAction = countBy(groups, [...actions, 'other'], ({ action }) =>
    action !== null && actions.includes(action) ? action : 'other',
  );
  const total = countRows(groups, () => true);
  const allow = byAction.allow ?? 0;
  const recent = await database.statement<{ rows: number }>(
    'select count(*) as rows from {governance.write_audit} where created_at >= ?',
    [dayAgo],
    options,
  );
  return {
    allow,
    redirect: byAction.redirect ?? 0,
    reject: byAction.reject ?? 0,
    total,
    by_action: byAction,
    by_reason: countBy(
      groups,
      ['policy', 'openmemory_write_failed', 'outbox_flush_success', 'dedup_hit', 'other'],
      reasonClass,
    ),
    by_status: countBy(groups, ['pending', 'success', 'redirected', 'failed'], ({ status }) => status ?? 'success'),
    recent_24h: recent.rows[0]?.rows ?? 0,
    success_rate: total === 0 ? 0 : allow / total,
  };
}
