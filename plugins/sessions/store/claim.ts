import { randomUUID } from 'node:crypto';
import type { Transaction } from 'mortise/sdk';
import type { Lease, Session, Store } from './store.js';

export interface Claim extends Lease {
  readonly currentChatId: string | null;
}

/**
 * Takes a free or expired session, making its row when there is none; null when someone holds it. One statement, so
 * that of any number of simultaneous claims exactly one wins. The expiry is stored with the lease: a claimer's own
 * time to live says nothing about the lease it meets. `next_seq` is never touched.
 */
export async function claimSession(
  store: Store,
  session: Session,
  ttlMs: number,
  trx?: Transaction,
): Promise<Claim | null> {
  const now = store.database.now.millis;
  const token = randomUUID();
  const { rows } = await store.database.statement<{ lease_epoch: number; current_chat_id: string | null }>(
    `insert into {realtime.sessions} as s (id, channel, user_id, client_session_id, next_seq, lock_token, lease_epoch,
       lease_owner, processing_since, lease_ttl_ms, lease_expires_at, created_at, updated_at)
     values (?, ?, ?, ?, 0, ?, 1, ?, ${now}, ?, ${now} + ?, ${now}, ${now})
     on conflict (id) do update set
       lock_token = excluded.lock_token, lease_epoch = s.lease_epoch + 1, lease_owner = excluded.lease_owner,
       processing_since = ${now}, lease_ttl_ms = excluded.lease_ttl_ms,
       lease_expires_at = ${now} + excluded.lease_ttl_ms, updated_at = ${now}
     where s.lock_token is null or s.lease_expires_at <= ${now}
     returning lease_epoch, current_chat_id`,
    [session.key, session.channel, session.userId, session.sessionId, token, store.owner, ttlMs, ttlMs],
    { trx },
  );
  const [row] = rows;
  return row ? { key: session.key, token, epoch: row.lease_epoch, currentChatId: row.current_chat_id } : null;
}
