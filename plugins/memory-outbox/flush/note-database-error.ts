import type { OutboxParts } from '../parts.js';
import { type Attempt, flushAudit } from './flush-audit.js';

/** Says, where the database lets it, that it failed while these rows were worked on. Their leases run out. */
export async function noteDatabaseError(
  attempts: readonly Attempt[],
  error: unknown,
  { audit, database, log }: OutboxParts,
): Promise<void> {
  const kind = database.codec.errorKind(error);
  log.error(
    { err: error, kind, rows: attempts.length },
    'Rows of the outbox could not be settled; their leases run out.',
  );
  const reason = kind === 'timeout' || kind === 'busy' ? 'outbox_flush_db_timeout' : 'outbox_flush_db_error';
  try {
    await audit.writeMany(
      attempts.map((attempt) => flushAudit(attempt, { action: 'redirect', reason, evidence: { extra: { kind } } })),
    );
  } catch (unwritten) {
    log.debug({ err: unwritten }, 'The failure of the database could not be audited.');
  }
}
