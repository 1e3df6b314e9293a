import type { Reliability } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { auditStats, interceptStats, readAuditGroups } from './audit-stats.js';
import { evidenceStats } from './evidence-stats.js';
import { checkInvariants } from './invariants.js';

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

interface OutboxGroup {
  readonly status: string;
  readonly rows: number;
  readonly retries: number;
}

interface Waiting {
  readonly oldest: string | null;
  readonly leased: number;
  readonly due: number;
}

interface OutboxStats {
  readonly pending: number;
  readonly sent: number;
  readonly dead: number;
  readonly total: number;
  readonly oldest_pending_age_seconds: number;
  readonly [figure: string]: unknown;
}

/** Counts of pending, sent and dead outbox rows. */
async function outboxStats(database: Database, now: number, options: TransactionOption): Promise<OutboxStats> {
  const groups = await database.statement<OutboxGroup>(
    'select status, count(*) as rows, sum(retry_count) as retries from {logbook.outbox_memory} group by status',
    [],
    options,
  );
  const waiting = await database.statement<Waiting>(
    `select min(created_at) as oldest,
       coalesce(sum(case when locked_at is not null then 1 else 0 end), 0) as leased,
       coalesce(sum(case when locked_at is null and next_attempt_at <= ? then 1 else 0 end), 0) as due
     from {logbook.outbox_memory} where status = 'pending'`,
    [database.codec.time(now)],
    options,
  );
  const rowsOf = (status: string) => groups.rows.find((group) => group.status === status)?.rows ?? 0;
  const [pending, sent, dead] = [rowsOf('pending'), rowsOf('sent'), rowsOf('dead')];
  const total = groups.rows.reduce((sum, group) => sum + group.rows, 0);
  const retries = groups.rows.reduce((sum, group) => sum + group.retries, 0);
  const oldest = database.codec.parseTime(waiting.rows[0]?.oldest ?? null);
  return {
    pending,
    sent,
    dead,
    total,
    by_status: { pending, sent, dead },
    avg_retry_count: total === 0 ? 0 : retries / total,
    oldest_pending_age_seconds: oldest === null ? 0 : Math.max(0, Math.floor((now - Date.parse(oldest)) / 1_000)),
    leased: waiting.rows[0]?.leased ?? 0,
    due: waiting.rows[0]?.due ?? 0,
  };
}
