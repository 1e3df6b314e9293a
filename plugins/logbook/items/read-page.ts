import type { LogbookPage, PageOption } from 'mortise/contracts/logbook';
import { type Database, MortiseError, type SqlValue, type TransactionOption } from 'mortise/sdk';

const LARGEST_LIMIT = 1_000;
const CURSOR = /^\d{1,15}$/;

/** A table that is read in pages, newest first. */
export interface PagedTable<Columns, Row> {
  /** Logical name. */
  readonly table: string;
  readonly columns: string;
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
  const conditions: string[] = [];
  const bindings: SqlValue[] = [];
  for (const [column, value] of Object.entries(wanted)) {
    if (value === undefined) continue;
    conditions.push(`${column} = ?`);
    bindings.push(value);
  }
  if (cursor !== undefined) {
    conditions.push(`${key} < ?`);
    bindings.push(Number(cursor));
  }
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  const { rows } = await database.statement<Columns>(
    `select ${columns} from {${table}} ${where} order by ${key} desc limit ?`,
    [...bindings, limit + 1],
    options,
  );
  const page = rows.slice(0, limit);
  return { rows: page.map(rowOf), next: rows.length > limit ? String(page.at(-1)?.[key]) : null };
}
