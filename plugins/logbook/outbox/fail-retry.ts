import type { FailureClass } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';

export interface RetryFailure {
  readonly error: string;
  readonly errorClass: FailureClass;
  readonly nextAttemptAt: string;
  readonly verifyFirst: boolean;
}

/** Plans the next attempt and frees the row. A backend that was unavailable is counted apart: that kills no row. */
export async function failRetry(
  database: Database,
  outboxId: number,
  workerId: string,
  failure: RetryFailure,
  options?: TransactionOption,
): Promise<boolean> {
  const { error, errorClass, nextAttemptAt, verifyFirst } = failure;
  const { changes } = await database.statement(
    `update {logbook.outbox_memory} set retry_count = retry_count + 1, unavailable_count = unavailable_count + ?,
       last_error = ?, last_error_class = ?, next_attempt_at = ?, verify_first = ?,
       updated_at = ${database.now.time}, locked_at = null, locked_by = null
     where outbox_id = ? and status = 'pending' and locked_by = ?`,
    [
      errorClass === 'unavailable' ? 1 : 0,
      error,
      errorClass,
      database.codec.time(nextAttemptAt),
      verifyFirst,
      outboxId,
      workerId,
    ],
    options,
  );
  return changes > 0;
}
