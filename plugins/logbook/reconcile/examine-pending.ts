import type { ExaminedPending, OutboxRow, ReconcileWindow } from 'mortise/contracts/logbook';
import { type Database, jsonTexts, type TransactionOption } from 'mortise/sdk';
import { outboxIdText } from '../audit/json-facts.js';
import { movedNow } from '../database-time.js';
import { type OutboxColumns, outboxColumns, outboxRowOf } from '../outbox/outbox-columns.js';

const HOUR_SECONDS = 3_600;

/** `<outbox id> <lease>` of every lease that the audit trail calls stale. Odd values in its JSON match none. */
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

/** Looks at rows that wait: whose lease is so old that nobody can be working on it? */
export async function examinePending(
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
