import type { Database, Dialect, SqlValue, Transaction, TransactionOption } from './host/database.js';

/** The table and columns of an insert, and what it returns. Create it once, as a constant: its statements are cached with it. */
export interface InsertTarget {
  /** Logical name, e.g. `logbook.memories`. */
  readonly table: string;
  readonly columns: readonly string[];
  /** Text before the insert, e.g. `with added as (`. */
  readonly prefix?: string;
  /** Text after the values, e.g. `on conflict do nothing returning id`. */
  readonly suffix?: string;
}

/** Rows per statement: few sizes, so that each statement is prepared once, and far below the limit on bindings. */
const LARGEST_CHUNK = 64;

const textsOf = new WeakMap<InsertTarget, Map<number, string>>();

function insertText(target: InsertTarget, rows: number): string {
  const texts = textsOf.get(target) ?? new Map<number, string>();
  textsOf.set(target, texts);
  let text = texts.get(rows);
  if (text === undefined) {
    const row = `(${target.columns.map(() => '?').join(', ')})`;
    const values = Array.from({ length: rows }, () => row).join(', ');
    text = `${target.prefix ?? ''} insert into {${target.table}} (${target.columns.join(', ')}) values ${values} ${target.suffix ?? ''}`;
    texts.set(rows, text);
  }
  return text;
}

/**
 * Inserts many rows with few statements. Auto-increment ids increase in the order of the rows; the order of the
 * returned rows is unspecified.
 */
export async function insertRows<Row extends object = Record<string, unknown>>(
  database: Database,
  target: InsertTarget,
  rows: readonly (readonly SqlValue[])[],
  options: TransactionOption = {},
): Promise<Row[]> {
  const returned: Row[] = [];
  let at = 0;
  while (at < rows.length) {
    const size = Math.min(LARGEST_CHUNK, 2 ** Math.floor(Math.log2(rows.length - at)));
    const chunk = rows.slice(at, at + size);
    const result = await database.statement<Row>(insertText(target, size), chunk.flat(), options);
    for (const row of result.rows) returned.push(row);
    at += size;
  }
  return returned;
}

/** A subquery over a list of texts that is bound as one JSON array: `where id in ${jsonTexts(dialect)}`. */
export function jsonTexts(dialect: Dialect): string {
  return dialect === 'sqlite'
    ? '(select value from json_each(?))'
    : '(select value from jsonb_array_elements_text(?::jsonb))';
}

/**
 * Serializes transactions that replace all rows of a table; without it the rows of two could be mixed.
 * Readers are not blocked. On SQLite, write transactions are serial anyway.
 */
export async function lockTable(database: Database, table: string, trx: Transaction): Promise<void> {
  if (database.dialect === 'sqlite') return;
  await database.statement(`lock table {${table}} in share row exclusive mode`, [], { trx });
}
