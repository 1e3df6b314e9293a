import type { Reliability } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { readAuditGroups } from './audit-groups.js';
import { auditStats } from './audit-stats.js';
import { evidenceStats } from './evidence-stats.js';
import { interceptStats } from './intercept-stats.js';
import { checkInvariants } from './invariants.js';
import { outboxStats } from './outbox-stats.js';

const DAY_MS = 86_400_000;

async function memoryStats(database: Database, options: TransactionOption) {
  const { rows } = await database.statement<{ state: string; rows: number }>(
    'select state, count(*) as rows from {logbook.memories} group by state',
    [],
    options,
  );
  return {
    total: rows.reduce((sum, group) => sum + group.rows, 0),
    by_state: Object.fromEntries(rows.map((group) => [group.state, group.rows])),
  };
}

/** The figures of the reliability report, all from one snapshot. */
export function createReliability(database: Database, now: () => number = Date.now): Reliability {
  return {
    outbox: () => outboxStats(database, now(), {}),
    figures: () =>
      database.transaction(
        async (trx) => {
          const at = now();
          const dayAgo = database.codec.time(at - DAY_MS);
          const groups = await readAuditGroups(database, { trx });
          const outbox = await outboxStats(database, at, { trx });
          return {
            outbox_stats: outbox,
            audit_stats: await auditStats(database, groups, dayAgo, { trx }),
            v2_evidence_stats: await evidenceStats(database, groups, database.codec.time(at - 7 * DAY_MS), { trx }),
            content_intercept_stats: await interceptStats(database, groups, dayAgo, { trx }),
            memory_stats: await memoryStats(database, { trx }),
            invariants: await checkInvariants(database, groups, outbox, { trx }),
            generated_at: new Date(at).toISOString(),
          };
        },
        { readOnlySnapshot: true },
      ),
  };
}
