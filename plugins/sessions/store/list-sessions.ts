import type { SessionListing, SessionsService } from 'mortise/contracts/sessions';
import type { SqlValue } from 'mortise/sdk';
import type { Store } from './store.js';

type Filter = Parameters<SessionsService['listSessions']>[0];

interface Row {
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
  const { rows } = await store.database.statement<Row>(
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
