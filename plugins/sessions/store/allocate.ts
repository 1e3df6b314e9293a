import type { Transaction } from 'mortise/sdk';
import { sessionError } from '../errors.js';
import type { Session, Store } from './store.js';

/**
 * The next `count` numbers of a session, for the holder of the token alone. Check and allocation are one statement:
 * there is no window between them. Equality only: after the next owner has released, an old token stays dead.
 *
 * @throws session_fenced; the caller's transaction rolls back, so that numbers have no gaps.
 */
export async function allocateFenced(
  store: Store,
  key: string,
  token: string,
  count: number,
  trx: Transaction,
): Promise<number> {
  const { rows } = await store.database.statement<{ next_seq: number }>(
    `update {realtime.sessions} set next_seq = next_seq + ?, updated_at = ${store.database.now.millis}
     where id = ? and lock_token = ? returning next_seq`,
    [count, key, token],
    { trx },
  );
  const [row] = rows;
  if (!row) throw sessionError('session_fenced');
  return row.next_seq - count;
}

/** The next number without a fence, for fixtures and imports: a forgotten token would switch fencing off. */
export async function allocateUnfenced(store: Store, session: Session, trx: Transaction): Promise<number> {
  const now = store.database.now.millis;
  const { rows } = await store.database.statement<{ next_seq: number }>(
    `insert into {realtime.sessions} as s (id, channel, user_id, client_session_id, next_seq, lease_epoch, created_at, updated_at)
     values (?, ?, ?, ?, 1, 0, ${now}, ${now})
     on conflict (id) do update set next_seq = s.next_seq + 1, updated_at = ${now}
     returning next_seq`,
    [session.key, session.channel, session.userId, session.sessionId],
    { trx },
  );
  const [row] = rows;
  if (!row) throw sessionError('store_error');
  return row.next_seq - 1;
}
