import type { PendingAudit } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { movedNow } from '../database-time.js';
import { type AuditColumns, auditColumns, auditRowOf } from './read-row.js';

export interface PendingWish {
  readonly olderThanSeconds: number;
  readonly limit: number;
  /** Audit id of the last row that was read. */
  readonly after?: string | undefined;
}

/** Rows that nobody has settled yet, oldest first. */
export async function pendingRows(
  database: Database,
  { olderThanSeconds, limit, after }: PendingWish,
  options?: TransactionOption,
): Promise<readonly PendingAudit[]> {
  const { rows } = await database.statement<AuditColumns>(
    `select ${auditColumns} from {governance.write_audit}
     where status = 'pending' and audit_id > ? and created_at <= ${movedNow(database)} order by audit_id limit ?`,
    [Number(after ?? 0), -olderThanSeconds, limit],
    options,
  );
  return rows.map((row) => ({
    ...auditRowOf(database, row),
    // A writer is an instance, or one of the several chains of one.
    instanceId: (row.writer_id ?? '').split('/')[0] ?? '',
  }));
}
