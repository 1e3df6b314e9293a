import type { FailureClass } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';

/** A dead letter: kept with its reason, and never sent again unless by hand. */
export async function markDead(
  database: Database,
  outboxId: number,
  workerId: string,
  failure: { readonly error: string; readonly errorClass: FailureClass },
  options?: TransactionOption,
): Promise<boolean> {
  const { changes } = await database.statement(
    `update {logbook.outbox_memory} set status = 'dead', retry_count = retry_count + 1, unavailable_count =
       unavailable_count + ?, last_error = ?, last_error_class = ?, dead_at = ${database.now.time},
       updated_at = ${database.now.time}, locked_at = null, locked_by = null
     where outbox_id = ? and status = 'pending' and locked_by = ?`,
    [failure.errorClass === 'unavailable' ? 1 : 0, failure.error, failure.errorClass, outboxId, workerId],
    options,
  );
  return changes > 0;
}
