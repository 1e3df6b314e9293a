import type { OutboxQuery, OutboxRow } from 'mortise/contracts/logbook';
import { type Database, jsonTexts, MortiseError, readTime, type SqlValue, type TransactionOption } from 'mortise/sdk';
import { type OutboxColumns, outboxColumns, outboxRowOf } from './outbox-columns.js';

const DEFAULT_LIMIT = 100;
const LARGEST_LIMIT = 1_000;

function invalid(message: string): MortiseError {
  return new MortiseError('invalid_outbox_query', message, { status: 400 });
}

export async function rowsByIds(
  database: Database,
  ids: readonly number[],
  options?: TransactionOption,
): Promise<readonly OutboxRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await database.statement<OutboxColumns>(
    `select ${outboxColumns} from {logbook.outbox_memory} o
     where o.outbox_id in (select cast(value as bigint) from ${jsonTexts(database.dialect)} ids) order by o.outbox_id`,
    [JSON.stringify(ids)],
    options,
  );
  return rows.map((row) => outboxRowOf(database, row));
}

function conditions(database: Database, query: OutboxQuery): readonly (readonly [string, SqlValue])[] {
  const { status, space, since, cursor } = query;
  if (status !== undefined && !['pending', 'sent', 'dead'].includes(status)) {
    throw invalid('status must be pending, sent or dead.');
  }
  const from = since === undefined ? undefined : readTime(since);
  if (since !== undefined && from === undefined) throw invalid('since must be an ISO 8601 time.');
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
    throw invalid('The cursor is not one that an earlier answer gave.');
  }
  const found: [string, SqlValue][] = [];
  if (status !== undefined) found.push(['o.status = ?', status]);
  if (space !== undefined) found.push(['o.target_space = ?', space]);
  if (from !== undefined) found.push(['o.updated_at >= ?', database.codec.time(from)]);
  if (cursor !== undefined) found.push(['o.outbox_id < ?', Number(cursor)]);
  return found;
}

/** Rows of the outbox, newest first. @throws MortiseError `invalid_outbox_query` (400). */
export async function listRows(
  database: Database,
  query: OutboxQuery,
  options?: TransactionOption,
): Promise<{ readonly rows: readonly OutboxRow[]; readonly next: string | null }> {
  const limit = query.limit ?? DEFAULT_LIMIT;
  if (!Number.isInteger(limit) || limit < 1 || limit > LARGEST_LIMIT) {
    throw invalid(`limit must be a whole number from 1 to ${LARGEST_LIMIT}.`);
  }
  const where = conditions(database, query);
  const { rows } = await database.statement<OutboxColumns>(
    `select ${outboxColumns} from {logbook.outbox_memory} o
     ${where.length === 0 ? '' : `where ${where.map(([sql]) => sql).join(' and ')}`}
     order by o.outbox_id desc limit ?`,
    [...where.map(([, binding]) => binding), limit + 1],
    options,
  );
  const page = rows.slice(0, limit);
  return {
    rows: page.map((row) => outboxRowOf(database, row)),
    next: rows.length > limit ? String(page.at(-1)?.outbox_id) : null,
  };
}
