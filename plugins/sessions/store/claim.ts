import { randomUUID } from 'node:crypto';
import type { Transaction } from 'mortise/sdk';
import type { Lease, Session, Store } from './store.js';

export interface Claim extends Lease {
  /** Of the first row that is written under the claim. */
  readonly nextSeq: number;
  readonly currentChatId: string | null;
  /** As it was when the claim was asked for; null when it was made while the claim waited for another writer. */
  readonly currentChat: CurrentChat | null;
  /** Turns that a lost owner left running. */
  readonly leftRunning: number;
}

export interface CurrentChat {
  readonly id: string;
  readonly name: string;
  readonly meta: unknown;
  readonly createdAt: number;
  readonly updatedAt: number;
}

interface Row {
  readonly lease_epoch: number;
  readonly next_seq: number;
  readonly left_running: number;
  readonly current_chat_id: string | null;
  readonly chat_name: string | null;
  readonly chat_meta: unknown;
  readonly chat_created_at: number;
  readonly chat_updated_at: number;
}

/** What every turn wants to know of the session it has claimed, in the statement that claims it. */
const told = `lease_epoch, next_seq, current_chat_id,
  (select count(*) from {realtime.turns} t where t.session_id = id and t.status = 'running') as left_running,
  (select c.name from {realtime.chats} c where c.id = current_chat_id) as chat_name,
  (select c.meta from {realtime.chats} c where c.id = current_chat_id) as chat_meta,
  (select c.created_at from {realtime.chats} c where c.id = current_chat_id) as chat_created_at,
  (select c.updated_at from {realtime.chats} c where c.id = current_chat_id) as chat_updated_at`;

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
  const { rows } = await store.database.statement<Row>(
    `insert into {realtime.sessions} as s (id, channel, user_id, client_session_id, next_seq, lock_token, lease_epoch,
       lease_owner, processing_since, lease_ttl_ms, lease_expires_at, created_at, updated_at)
     values (?, ?, ?, ?, 0, ?, 1, ?, ${now}, ?, ${now} + ?, ${now}, ${now})
     on conflict (id) do update set
       lock_token = excluded.lock_token, lease_epoch = s.lease_epoch + 1, lease_owner = excluded.lease_owner,
       processing_since = ${now}, lease_ttl_ms = excluded.lease_ttl_ms,
       lease_expires_at = ${now} + excluded.lease_ttl_ms, updated_at = ${now}
     where s.lock_token is null or s.lease_expires_at <= ${now}
     returning ${told}`,
    [session.key, session.channel, session.userId, session.sessionId, token, store.owner, ttlMs, ttlMs],
    { trx },
  );
  const [row] = rows;
  return row
    ? {
        key: session.key,
        token,
        epoch: row.lease_epoch,
        nextSeq: row.next_seq,
        currentChatId: row.current_chat_id,
        currentChat: currentChat(row),
        leftRunning: row.left_running,
      }
    : null;
}

function currentChat(row: Row): CurrentChat | null {
  if (row.current_chat_id === null || row.chat_name === null) return null;
  return {
    id: row.current_chat_id,
    name: row.chat_name,
    meta: row.chat_meta,
    createdAt: row.chat_created_at,
    updatedAt: row.chat_updated_at,
  };
}
