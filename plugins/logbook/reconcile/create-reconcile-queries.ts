import type { ReconcileQueries } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
import { movedNow } from '../database-time.js';
import { checkTrail } from './check-trail.js';
import { examinePending } from './examine-pending.js';
import { examineSettled } from './examine-settled.js';

/** What a look at outbox and audit trail together needs of their tables. */
export function createReconcileQueries(database: Database): ReconcileQueries {
  return {
    sent: (window, options) => examineSettled(database, 'sent', window, options),
    dead: (window, options) => examineSettled(database, 'dead', window, options),
    pending: (window, options) => examinePending(database, window, options),
    async reschedule(row, delaySeconds, options) {
      if (row.lockedAt === null) return false;
      // Stored leases may be finer than the millisecond they are read with.
      const { changes } = await database.statement(
        `update {logbook.outbox_memory} set next_attempt_at = ${movedNow(database)}, locked_at = null, locked_by = null
         where outbox_id = ? and status = 'pending' and locked_at >= ? and locked_at < ?`,
        [
          delaySeconds,
          row.outboxId,
          database.codec.time(row.lockedAt),
          database.codec.time(Date.parse(row.lockedAt) + 1),
        ],
        options,
      );
      return changes > 0;
    },
    invariants: (options) => checkTrail(database, options),
    async pendingAudits(asking, options) {
      const { rows } = await database.statement<{ rows: number; oldest: string | null; at: number }>(
        `select count(*) as rows, min(created_at) as oldest, ${database.now.millis} as at
         from {governance.write_audit} where status = 'pending' and coalesce(correlation_id, '') <> ?`,
        [asking],
        options,
      );
      const oldest = database.codec.parseTime(rows[0]?.oldest ?? null);
      const age = oldest === null ? null : Math.max(0, ((rows[0]?.at ?? 0) - Date.parse(oldest)) / 1_000);
      return { count: rows[0]?.rows ?? 0, oldestAgeSeconds: age };
    },
  };
}
