import type { Transaction } from 'mortise/sdk';
import type { Store } from './store.js';

const cleared = `lock_token = null, lease_owner = null, processing_since = null, lease_ttl_ms = null,
  lease_expires_at = null`;

/** Gives the session back; false and no effect when the token is not the session's any more. */
export async function releaseSession(store: Store, key: string, token: string, trx?: Transaction): Promise<boolean> {
  const { changes } = await store.database.statement(
    `update {realtime.sessions} set ${cleared}, updated_at = ${store.database.now.millis}
     where id = ? and lock_token = ?`,
    [key, token],
    { trx },
  );
  return changes === 1;
}

/** The last allocation of a turn and its release in one statement: the number of the first row, null when fenced. */
export async function allocateAndRelease(
  store: Store,
  key: string,
  token: string,
  count: number,
  trx: Transaction,
): Promise<number | null> {
  const { rows } = await store.database.statement<{ next_seq: number }>(
    `update {realtime.sessions} set next_seq = next_seq + ?, ${cleared}, updated_at = ${store.database.now.millis}
     where id = ? and lock_token = ? returning next_seq`,
    [count, key, token],
    { trx },
  );
  const [row] = rows;
  return row ? row.next_seq - count : null;
}
