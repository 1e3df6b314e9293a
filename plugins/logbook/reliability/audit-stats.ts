import type { Database, TransactionOption } from 'mortise/sdk';

/** Audit rows of one reason, action and status. */
export interface AuditGroup {
  readonly reason: string | null;
  readonly action: string | null;
  readonly status: string | null;
  readonly rows: number;
}

/** Groups all audit rows in one index scan; the report's totals are sums over the groups. */
export async function readAuditGroups(database: Database, options: TransactionOption): Promise<readonly AuditGroup[]> {
  const { rows } = await database.statement<AuditGroup>(
    `select reason, action, status, count(*) as rows from {governance.write_audit} group by reason, action, status`,
    [],
    options,
  );
  return rows;
}

/** Rows in the groups for which `holds` is true. */
export function countRows(groups: readonly AuditGroup[], holds: (group: AuditGroup) => boolean): number {
  return groups.reduce((sum, group) => (holds(group) ? sum + group.rows : sum), 0);
}

/** Rows by name of group; every one of `names` is present, with 0 when empty. */
function countBy(
  groups: readonly AuditGroup[],
  names: readonly string[],
  nameOf: (group: AuditGroup) => string,
): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]));
  for (const group of groups) counts[nameOf(group)] = (counts[nameOf(group)] ?? 0) + group.rows;
  return counts;
}

const actions = ['allow', 'redirect', 'reject'];

function reasonClass({ reason }: AuditGroup): string {
  const text = reason ?? '';
  if (text.startsWith('policy:')) return 'policy';
  if (text.toLowerCase().startsWith('openmemory_write_failed:')) return 'openmemory_write_failed';
  return text === 'outbox_flush_success' || text === 'dedup_hit' ? text : 'other';
}

interface AuditStats {
  readonly allow: number;
  readonly redirect: number;
  readonly reject: number;
  /** All rows, whatever their action. */
  readonly total: number;
  readonly [figure: string]: unknown;
}

/** Decisions by action, reason and status. */
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

const PREFIX = 'content_intercepted:';

/** Rejections by the content guard. */
export async function interceptStats(
  database: Database,
  groups: readonly AuditGroup[],
  dayAgo: string,
  options: TransactionOption,
) {
  const intercepted = groups.filter(({ reason }) => reason?.startsWith(PREFIX));
  const byType = countBy(intercepted, [], ({ reason }) => reason?.slice(PREFIX.length) ?? '');
  const total = Object.values(byType).reduce((sum, rows) => sum + rows, 0);
  const recent = await database.statement<{ rows: number }>(
    `select count(*) as rows from {governance.write_audit}
     where created_at >= ? and substr(reason, 1, ${PREFIX.length}) = '${PREFIX}'`,
    [dayAgo],
    options,
  );
  const diff = byType.diff ?? 0;
  const log = byType.log ?? 0;
  return {
    total,
    by_type: byType,
    recent_24h_intercept: total === 0 ? 0 : (recent.rows[0]?.rows ?? 0),
    diff_reject_count: diff,
    log_reject_count: log,
    diff_log_reject_count: diff + log,
    total_intercept_count: total,
  };
}
