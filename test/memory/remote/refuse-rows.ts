import type { MemoryHost } from 'mortise/contracts/memory-gateway/testing';

interface RefusedRows {
  readonly event: 'insert' | 'update';
  /** E.g. `logbook.memories`. */
  readonly table: string;
  /** A condition on `new`, the row to be written. */
  readonly when: string;
  /** PostgreSQL's error code. SQLite has a single one. */
  readonly sqlState?: string;
}

/** Makes the database refuse some rows. @returns a function that ends it */
export async function refuseRows(
  { database }: MemoryHost,
  { event, table, when, sqlState = 'P0001' }: RefusedRows,
): Promise<() => Promise<void>> {
  const [make, undo] =
    database.dialect === 'sqlite'
      ? [
          [
            `create trigger refuse_rows before ${event} on {${table}} when ${when}
             begin select raise(abort, 'refused'); end`,
          ],
          ['drop trigger refuse_rows'],
        ]
      : [
          [
            `create function governance.refuse_row() returns trigger language plpgsql as
             'begin raise exception using message = ''refused'', errcode = ''${sqlState}''; end'`,
            `create trigger refuse_rows before ${event} on {${table}} for each row when (${when})
             execute function governance.refuse_row()`,
          ],
          [`drop trigger refuse_rows on {${table}}`, 'drop function governance.refuse_row()'],
        ];
  for (const text of make) await database.statement(text);
  return async () => {
    for (const text of undo) await database.statement(text);
  };
}
