import { type DatabaseReader, table } from './read-database.js';

/** Rows that still have to reach their final state. */
export interface Unfinished {
  readonly outboxPending: number;
  readonly auditsPending: number;
  readonly memoriesUnfinished: number;
  /** Failed deliveries of pending rows: they change while a row is still being retried. */
  readonly failedAttempts: number;
}

export async function countUnfinished(database: DatabaseReader): Promise<Unfinished> {
  const count = (schema: string, name: string, where: string) =>
    `(select cast(count(*) as text) from ${table(database, schema, name)} where ${where})`;
  const [row] = await database.rows<{
    readonly outbox: string;
    readonly audits: string;
    readonly memories: string;
    readonly attempts: string;
  }>(
    `select ${count('logbook', 'outbox_memory', `status = 'pending'`)} as outbox,
       ${count('governance', 'write_audit', `status = 'pending'`)} as audits,
       ${count('logbook', 'memories', `state in ('writing', 'queued')`)} as memories,
       (select cast(coalesce(sum(retry_count), 0) as text) from ${table(database, 'logbook', 'outbox_memory')}
         where status = 'pending') as attempts`,
  );
  return {
    outboxPending: Number(row?.outbox),
    auditsPending: Number(row?.audits),
    memoriesUnfinished: Number(row?.memories),
    failedAttempts: Number(row?.attempts),
  };
}
