import type { Database, TransactionOption } from 'mortise/sdk';
import { type AuditGroup, countBy } from './audit-groups.js';

const PREFIX = 'content_intercepted:';

/** What the content guard refused. */
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
