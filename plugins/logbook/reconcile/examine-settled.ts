import type { ExaminedStatus, ReconcileWindow } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { movedNow } from '../database-time.js';
import { type OutboxColumns, outboxColumns, outboxRowOf } from '../outbox/outbox-columns.js';
import { isAudited } from './audited-rows.js';

const HOUR_SECONDS = 3_600;

/** The audit row that each settled status must have. */
const expected = {
  sent: { action: 'allow', reasons: ['outbox_flush_success', 'outbox_flush_dedup_hit'] },
  dead: { action: 'reject', reasons: ['outbox_flush_dead'] },
} as const;

/** Looks at rows that were sent, or that died: are they in the audit trail? */
export async function examineSettled(
  database: Database,
  status: 'sent' | 'dead',
  { scanWindowHours, limit }: ReconcileWindow,
  options?: TransactionOption,
): Promise<ExaminedStatus> {
  const { action, reasons } = expected[status];
  const since = -scanWindowHours * HOUR_SECONDS;
  const isLocking = options?.trx !== undefined && database.dialect === 'postgres';
  const missing = (lock: string) => `select ${outboxColumns} from {logbook.outbox_memory} o
     where o.status = '${status}' and o.updated_at >= ${movedNow(database)}
       and not ${isAudited(database.dialect, action, reasons)}
     order by o.outbox_id limit ? ${lock}`;
  const found = await database.statement<OutboxColumns>(
    missing(isLocking ? 'for update of o' : ''),
    [since, limit],
    options,
  );
  // A statement sees what was committed when it began: what another process mended while this one waited for its lock
  // shows only in a second look.
  const { rows } =
    isLocking && found.rows.length > 0
      ? await database.statement<OutboxColumns>(missing(''), [since, limit], options)
      : found;
  const counted = await database.statement<{ rows: number }>(
    `select count(*) as rows from (select 1 as one from {logbook.outbox_memory} o
     where o.status = '${status}' and o.updated_at >= ${movedNow(database)} limit ?) looked`,
    [since, limit],
    options,
  );
  return { count: counted.rows[0]?.rows ?? 0, findings: rows.map((row) => outboxRowOf(database, row)) };
}
