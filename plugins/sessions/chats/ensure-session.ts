import type { Transaction } from 'mortise/sdk';
import type { Session, Store } from '../store/store.js';

/** Makes the row of a session that nobody has claimed yet. */
export async function ensureSession(store: Store, session: Session, trx: Transaction): Promise<void> {
  const now = store.database.now.millis;
  await store.database.statement(
    `insert into {realtime.sessions} (id, channel, user_id, client_session_id, next_seq, lease_epoch, created_at, updated_at)
     values (?, ?, ?, ?, 0, 0, ${now}, ${now}) on conflict (id) do nothing`,
    [session.key, session.channel, session.userId, session.sessionId],
    { trx },
  );
}
