import { randomUUID } from 'node:crypto';
import type { SessionListing, SessionsService } from 'mortise/contracts/sessions';
import type { SqlValue, Transaction } from 'mortise/sdk';
import { sessionError } from '../errors.js';
import type { Lease, Session, Store } from './store.js';

export interface Claim extends Lease {
  /** Number of the first row that is written under the claim. */
  readonly nextSeq: number;
  readonly currentChatId: string | null;
  /** As of the start of the claim; null when it was created while the claim waited for another writer. */
  readonly currentChat: CurrentChat | null;
  /** Number of turns that a dead owner left running. */
  readonly leftRunning: number;
}

interface CurrentChat {
  readonly id: string;
  readonly name: string;
  readonly meta: unknown;
  readonly createdAt: number;
  readonly updatedAt: number;
}

interface ClaimedRow {
  readonly lease_epoch: number;
  readonly next_seq: number;
  readonly left_running: number;
  readonly current_chat_id: string | null;
  readonly chat_name: string | null;
  readonly chat_meta: unknown;
  readonly chat_created_at: number;
  readonly chat_updated_at: number;
}

/** Columns that every turn needs of its session, read by the statement that claims it. */
const claimedColumns = `lease_epoch, next_seq, current_chat_id,
  (select count(*) from {realtime.turns} t where t.session_id = id and t.status = 'running') as left_running,
  (select c.name from {realtime.chats} c where c.id = current_chat_id) as chat_name,
  (select c.meta from {realtime.chats} c where c.id = current_chat_id) as chat_meta,
  (select c.created_at from {realtime.chats} c where c.id = current_chat_id) as chat_created_at,
  (select c.updated_at from {realtime.chats} c where c.id = current_chat_id) as chat_updated_at`;

/**
 * Claims a free or expired session, creating its row if necessary; null when another owner holds it. One statement, so
 * that exactly one of any number of simultaneous claims wins. The expiry is stored with the lease: a claimer's own TTL
 * does not apply to the lease of another. `next_seq` is never changed.
 */
export async function claimSession(
  store: Store,
  session: Session,
  ttlMs: number,
  trx?: Transaction,
): Promise<Claim | null> {
  const now = store.database.now.millis;
  const token = randomUUID();
  const { rows } = await store.database.statement<ClaimedRow>(
    `insert into {realtime.sessions} as s (id, channel, user_id, client_session_id, next_seq, lock_token, lease_epoch,
       lease_owner, processing_since, lease_ttl_ms, lease_expires_at, created_at, updated_at)
     values (?, ?, ?, ?, 0, ?, 1, ?, ${now}, ?, ${now} + ?, ${now}, ${now})
     on conflict (id) do update set
       lock_token = excluded.lock_token, lease_epoch = s.lease_epoch + 1, lease_owner = excluded.lease_owner,
       processing_since = ${now}, lease_ttl_ms = excluded.lease_ttl_ms,
       lease_expires_at = ${now} + excluded.lease_ttl_ms, updated_at = ${now}
     where s.lock_token is null or s.lease_expires_at <= ${now}
     returning ${claimedColumns}`,
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

function currentChat(row: ClaimedRow): CurrentChat | null {
  if (row.current_chat_id === null || row.chat_name === null) return null;
  return {
    id: row.current_chat_id,
    name: row.chat_name,
    meta: row.chat_meta,
    createdAt: row.chat_created_at,
    updatedAt: row.chat_updated_at,
  };
}

/**
 * Extends the lease; false when the token is no longer the session's. An expired lease may be renewed while its token
 * still matches: no other owner has claimed the session since.
 */
export async function renewSession(store: Store, lease: Lease, ttlMs: number): Promise<boolean> {
  const { changes } = await store.writes.urgent(
    `update {realtime.sessions} set lease_ttl_ms = ?, lease_expires_at = ${store.database.now.millis} + ?
     where id = ? and lock_token = ?`,
    [ttlMs, ttlMs, lease.key, lease.token],
  );
  return changes === 1;
}

/** Ends a lease. */
const cleared = `lock_token = null, lease_owner = null, processing_since = null, lease_ttl_ms = null,
  lease_expires_at = null`;

/** Releases the session; false and no effect when the token is no longer the session's. */
export async function releaseSession(store: Store, key: string, token: string, trx?: Transaction): Promise<boolean> {
  const { changes } = await store.database.statement(
    `update {realtime.sessions} set ${cleared}, updated_at = ${store.database.now.millis}
     where id = ? and lock_token = ?`,
    [key, token],
    { trx },
  );
  return changes === 1;
}

/**
 * Takes the session from a turn that runs on the chat, so that the turn's owner writes nothing more. Locks the row first:
 * a turn that opens at the same moment finds either the chat or none.
 */
export async function revokeLease(store: Store, key: string, chatId: string, trx: Transaction): Promise<void> {
  const { database } = store;
  await database.statement(`update {realtime.sessions} set updated_at = ${database.now.millis} where id = ?`, [key], {
    trx,
  });
  await database.statement(
    `update {realtime.sessions} set ${cleared}
     where id = ? and exists (select 1 from {realtime.turns} t where t.chat_id = ? and t.status = 'running')`,
    [key, chatId],
    { trx },
  );
}

/** The last allocation of a turn and its release, in one statement. @returns the first number; null when fenced. */
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

/**
 * The next `count` numbers of a session, only for the holder of the token. Check and allocation are one statement, so
 * there is no window between them. The token must be equal: an old one stays invalid after the next owner has released.
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

/** Creates the row of a session that was never claimed. */
export async function ensureSession(store: Store, session: Session, trx: Transaction): Promise<void> {
  const now = store.database.now.millis;
  await store.database.statement(
    `insert into {realtime.sessions} (id, channel, user_id, client_session_id, next_seq, lease_epoch, created_at, updated_at)
     values (?, ?, ?, ?, 0, 0, ${now}, ${now}) on conflict (id) do nothing`,
    [session.key, session.channel, session.userId, session.sessionId],
    { trx },
  );
}

/** Sets the session's current chat; null: the next turn creates one. */
export async function makeCurrent(
  store: Store,
  sessionKey: string,
  chatId: string | null,
  trx: Transaction,
): Promise<void> {
  await store.database.statement(
    'update {realtime.sessions} set current_chat_id = ? where id = ?',
    [chatId, sessionKey],
    { trx },
  );
}

/** Makes a chat current in a session that has none. */
export async function makeCurrentIfNone(
  store: Store,
  sessionKey: string,
  chatId: string,
  trx: Transaction,
): Promise<void> {
  await store.database.statement(
    'update {realtime.sessions} set current_chat_id = ? where id = ? and current_chat_id is null',
    [chatId, sessionKey],
    { trx },
  );
}

/** If the given chat is the session's current one, its newest other chat becomes current, or none. */
export async function replaceCurrent(
  store: Store,
  sessionKey: string,
  chatId: string,
  trx: Transaction,
): Promise<void> {
  await store.database.statement(
    `update {realtime.sessions} set current_chat_id = (
       select c.id from {realtime.chats} c where c.session_id = ? and c.id <> ?
       order by c.updated_at desc, c.id desc limit 1)
     where id = ? and current_chat_id = ?`,
    [sessionKey, chatId, sessionKey, chatId],
    { trx },
  );
}

type Filter = Parameters<SessionsService['listSessions']>[0];

interface ListRow {
  readonly client_session_id: string;
  readonly title: string | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly message_count: number;
  readonly busy: number;
}

/** Sessions of a user, last used first; equal times by session id, descending. Counts the rows of the current chat. */
export async function listSessions(store: Store, filter: Filter): Promise<readonly SessionListing[]> {
  const { channel, userId, limit, after } = filter;
  const bindings: SqlValue[] = [channel, userId];
  if (after) bindings.push(after.updatedAt, after.updatedAt, after.sessionId);
  const { rows } = await store.database.statement<ListRow>(
    `select s.client_session_id, s.title, s.created_at, s.updated_at,
       (select count(*) from {realtime.messages} m where m.chat_id = s.current_chat_id) as message_count,
       case when s.lock_token is not null and s.lease_expires_at > ${store.database.now.millis} then 1 else 0 end as busy
     from {realtime.sessions} s
     where s.channel = ? and s.user_id = ? and s.current_chat_id is not null
     ${after ? 'and (s.updated_at < ? or (s.updated_at = ? and s.client_session_id < ?))' : ''}
     order by s.updated_at desc, s.client_session_id desc limit ?`,
    [...bindings, limit],
  );
  return rows.map((row) => ({
    session: { channel, userId, sessionId: row.client_session_id },
    title: row.title,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    messageCount: row.message_count,
    busy: row.busy === 1,
  }));
}
