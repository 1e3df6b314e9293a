import type { Transaction } from 'mortise/sdk';
import type { Store } from './store.js';

/** Turns that a lost owner left running: whoever takes the session over says so, in the same transaction. */
export async function interruptTurns(store: Store, sessionKey: string, trx: Transaction): Promise<number> {
  const { changes } = await store.database.statement(
    `update {realtime.turns} set status = 'interrupted', idempotency_key = null,
       error_code = 'turn_interrupted', error_message = 'The process that ran the turn is gone.',
       finished_at = ${store.database.now.millis}
     where session_id = ? and status = 'running'`,
    [sessionKey],
    { trx },
  );
  return changes;
}
