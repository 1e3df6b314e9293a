import { type DatabaseReader, table } from './read-database.js';

/** What still has to come to its end. */
export interface Unfinished {
  readonly outboxPending: number;
  readonly auditsPending: number;
  readonly memoriesUnfinished: number;
}

export async function countUnfinished(database: DatabaseReader): Promise<Unfinished> {
  const count = (schema: string, name: string, where: string) =>
    `(select cast(count(*) as text) from ${table(database, schema, name)} where ${where})`;
  const [row] = await database.rows<{ readonly outbox: string; readonly audits: string; readonly memories: string }>(
    `select ${count('logbook', 'outbox_memory', `status = 'pending'`)} as outbox,
       ${count('governance', 'write_audit', `status = 'pending'`)} as audits,
       ${count('logbook', 'memories', `state in ('writing', 'queued')`)} as memories`,
  );
  return {
    outboxPending: Number(row?.outbox),
    auditsPending: Number(row?.audits),
    memoriesUnfinished: Number(row?.memories),
  };
}
