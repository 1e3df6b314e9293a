import type { Database, TransactionOption } from 'mortise/sdk';

/** A dead letter becomes a row like any new one; its counts begin anew, or its next failure would kill it again. */
export async function retryDead(database: Database, outboxId: number, options?: TransactionOption): Promise<boolean> {
  const { changes } = await database.statement(
    `update {logbook.outbox_memory} set status = 'pending', retry_count = 0, unavailable_count = 0, dead_at = null,
       next_attempt_at = ${database.now.time}, updated_at = ${database.now.time}
     where outbox_id = ? and status = 'dead'`,
    [outboxId],
    options,
  );
  return changes > 0;
}

/**
 * What waits only because the backend was unavailable is due now. A new row that is to be looked up first keeps its time:
 * that is short, and the backend may still be at work on the call that timed out.
 */
export async function hastenRows(database: Database, options?: TransactionOption): Promise<number> {
  const { changes } = await database.statement(
    `update {logbook.outbox_memory} set next_attempt_at = ${database.now.time}, updated_at = ${database.now.time}
     where status = 'pending' and last_error_class = 'unavailable' and next_attempt_at > ${database.now.time}
       and (retry_count > 0 or verify_first = ?)`,
    [false],
    options,
  );
  return changes;
}
