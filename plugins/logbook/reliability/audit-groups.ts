import type { Database, TransactionOption } from 'mortise/sdk';

/** Audit rows of one reason, action and status. */
export interface AuditGroup {
  readonly reason: string | null;
  readonly action: string | null;
  readonly status: string | null;
  readonly rows: number;
}

/** All audit rows in groups: one walk over the index of reasons, and the totals of the report are sums over it. */
export async function readAuditGroups(database: Database, options: TransactionOption): Promise<readonly AuditGroup[]> {
  const { rows } = await database.statement<AuditGroup>(
    `select reason, action, status, count(*) as rows from {governance.write_audit} group by reason, action, status`,
    [],
    options,
  );
  return rows;
}

/** Rows of the groups for which `holds` is true. */
export function countRows(groups: readonly AuditGroup[], holds: (group: AuditGroup) => boolean): number {
  return groups.reduce((sum, group) => (holds(group) ? sum + group.rows : sum), 0);
}

/** Rows by what `nameOf` calls their group; every one of `names` is there, if only with 0. */
export function countBy(
  groups: readonly AuditGroup[],
  names: readonly string[],
  nameOf: (group: AuditGroup) => string,
): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]));
  for (const group of groups) counts[nameOf(group)] = (counts[nameOf(group)] ?? 0) + group.rows;
  return counts;
}
