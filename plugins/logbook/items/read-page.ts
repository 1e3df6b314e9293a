import type { LogbookPage, PageOption } from 'mortise/contracts/logbook';
import { type Database, MortiseError, type SqlValue, type TransactionOption } from 'mortise/sdk';

const LARGEST_LIMIT = 1_000;
const CURSOR = /^\d{1,15}$/;

/** A table that is read in pages, newest first. */
export interface PagedTable<Columns, Row> {
  /** Logical name. */
  readonly table: string;
  readonly columns: readonly string[];
  readonly key: keyof Columns & string;
  rowOf(columns: Columns): Row;
}

/**
 * One page of the rows that match all given values; undefined values are ignored.
 * @throws MortiseError `invalid_cursor` or `invalid_limit` (400).
 */
export async function readPage<Columns extends object, Row>(
  database: Database,
  { table, columns, key, rowOf }: PagedTable<Columns, Row>,
  wanted: Readonly<Record<string, SqlValue | undefined>>,
  { limit, cursor }: PageOption,
  options: TransactionOption = {},
): Promise<LogbookPage<Row>> {
  if (!Number.isInteger(limit) || limit < 1 || limit > LARGEST_LIMIT) {
    throw new MortiseError('invalid_limit', `limit must be a whole number from 1 to ${LARGEST_LIMIT}.`, {
      status: 400,
    });
  }
  if (cursor !== undefined && !CURSOR.test(cursor)) {
    throw new MortiseError('invalid_cursor', 'The cursor was not returned by an earlier page.', { status: 400 });
  }
  const query = database
    .query(options)(database.table(table))
    .select(columns)
    .where(Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)))
    .orderBy(key, 'desc')
    .limit(limit + 1);
  if (cursor !== undefined) void query.where(key, '<', Number(cursor));
  const rows = (await query) as readonly Columns[];
  const page = rows.slice(0, limit);
  return { rows: page.map(rowOf), next: rows.length > limit ? String(page.at(-1)?.[key]) : null };
}
