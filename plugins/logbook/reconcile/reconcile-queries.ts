import type {
  ExaminedPending,
  ExaminedStatus,
  Invariant,
  OutboxRow,
  ReconcileQueries,
  ReconcileWindow,
} from 'mortise/contracts/logbook';
import { type Database, jsonTexts, type TransactionOption } from 'mortise/sdk';
import { isAudited, outboxIdText } from '../audit/json-facts.js';
import { type OutboxColumns, outboxColumns, outboxRowOf } from '../outbox/read-rows.js';
import { reschedule } from '../outbox/settle.js';
import { movedNow } from '../sql.js';

/** Queries that compare outbox and audit trail. */
export function createReconcileQueries(database: Database): ReconcileQueries {
  return {
    sent: (window, options) => examineSettled(database, 'sent', window, options),
    dead: (window, options) => examineSettled(database, 'dead', window, options),
    pending: (window, options) => examinePending(database, window, options),
    reschedule: (row, delaySeconds, options) => reschedule(database, row, delaySeconds, options),
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

const HOUR_SECONDS = 3_600;

/** `<outbox id> <lease>` of every lease that the audit trail records as stale. */
async function auditedLeases(
  database: Database,
  ids: readonly number[],
  options?: TransactionOption,
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const { rows } = await database.statement<{ outbox_id: string; locked_at: string | null }>(
    `select ${outboxIdText(database.dialect, 'a.')} as outbox_id, a.evidence_refs_json->>'original_locked_at' as locked_at
     from {governance.write_audit} a where a.reason = 'outbox_stale' and a.action = 'redirect'
       and ${outboxIdText(database.dialect, 'a.')} in ${jsonTexts(database.dialect)}`,
    [JSON.stringify(ids.map(String))],
    options,
  );
  return new Set(rows.map(({ outbox_id, locked_at }) => `${outbox_id} ${locked_at}`));
}

/** Finds pending rows whose lease is too old for any worker to hold it. */
async function examinePending(
  database: Database,
  window: ReconcileWindow & { readonly staleThresholdSeconds: number },
  options?: TransactionOption,
): Promise<ExaminedPending> {
  const since = -window.scanWindowHours * HOUR_SECONDS;
  const lock = options?.trx !== undefined && database.dialect === 'postgres' ? 'for update of o skip locked' : '';
  const { rows } = await database.statement<OutboxColumns>(
    `select ${outboxColumns} from {logbook.outbox_memory} o
     where o.status = 'pending' and o.updated_at >= ${movedNow(database)} and o.locked_at < ${movedNow(database)}
     order by o.locked_at, o.outbox_id limit ? ${lock}`,
    [since, -window.staleThresholdSeconds, window.limit],
    options,
  );
  const counted = await database.statement<{ rows: number }>(
    `select count(*) as rows from (select 1 as one from {logbook.outbox_memory} o
     where o.status = 'pending' and o.updated_at >= ${movedNow(database)} limit ?) looked`,
    [since, window.limit],
    options,
  );
  const stale = rows.map((row) => outboxRowOf(database, row));
  const audited = await auditedLeases(
    database,
    stale.map(({ outboxId }) => outboxId),
    options,
  );
  const isMissing = ({ outboxId, lockedAt }: OutboxRow) => !audited.has(`${outboxId} ${lockedAt}`);
  return { count: counted.rows[0]?.rows ?? 0, stale: stale.map((row) => ({ ...row, isMissing: isMissing(row) })) };
}

/** The audit row that each final status must have. */
const expected = {
  sent: { action: 'allow', reasons: ['outbox_flush_success', 'outbox_flush_dedup_hit'] },
  dead: { action: 'reject', reasons: ['outbox_flush_dead'] },
} as const;

/** Finds sent or dead rows without their audit row. */
async function examineSettled(
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
  // A statement sees the snapshot of its start: repairs that another process committed while this one waited for the
  // lock show only in a second query.
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

interface Pair {
  readonly left_rows: number;
  readonly right_rows: number;
}

/** Invariants between outbox and audit trail, each as two counts of one statement. */
async function checkTrail(database: Database, options?: TransactionOption): Promise<readonly Invariant[]> {
  const { dialect } = database;
  const check = async (id: string, text: string): Promise<Invariant> => {
    const { rows } = await database.statement<Pair>(text, [], options);
    const { left_rows: left, right_rows: right } = rows[0] ?? { left_rows: 0, right_rows: 0 };
    return { id, ok: left === right, left, right };
  };
  return [
    await check(
      '3',
      `select count(*) as left_rows, count(distinct ${outboxIdText(dialect, 'a.')} || ' '
         || coalesce(a.evidence_refs_json->>'original_locked_at', '')) as right_rows
       from {governance.write_audit} a where a.reason = 'outbox_stale'`,
    ),
    await check(
      '4',
      `select count(*) as left_rows, coalesce(sum(case when exists (select 1 from {governance.write_audit} a
         where ${outboxIdText(dialect, 'a.')} = cast(o.outbox_id as text)) then 1 else 0 end), 0) as right_rows
       from {logbook.outbox_memory} o`,
    ),
  ];
}
