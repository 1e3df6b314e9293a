import type { Chat } from 'mortise/contracts/sessions';
import type { SqlValue } from 'mortise/sdk';
import { type ChatRow, toChat } from '../store/rows.js';
import type { Store } from '../store/store.js';
import { chatColumns } from './read-chat.js';

export interface ChatQuery {
  readonly userId?: string | undefined;
  readonly channel?: string | undefined;
  readonly limit: number;
  /** Chats that come after this one in the list. */
  readonly after?: { readonly updatedAt: number; readonly id: string } | undefined;
}

/** Chats, newest first; equal times by id, descending. */
export async function listChats(store: Store, query: ChatQuery): Promise<readonly Chat[]> {
  const conditions: string[] = [];
  const bindings: SqlValue[] = [];
  if (query.userId !== undefined) {
    conditions.push('s.user_id = ?');
    bindings.push(query.userId);
  }
  if (query.channel !== undefined) {
    conditions.push('s.channel = ?');
    bindings.push(query.channel);
  }
  if (query.after) {
    conditions.push('(c.updated_at < ? or (c.updated_at = ? and c.id < ?))');
    bindings.push(query.after.updatedAt, query.after.updatedAt, query.after.id);
  }
  const { rows } = await store.database.statement<ChatRow>(
    `select ${chatColumns} from {realtime.chats} c join {realtime.sessions} s on s.id = c.session_id
     ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
     order by c.updated_at desc, c.id desc limit ?`,
    [...bindings, query.limit],
  );
  return rows.map((row) => toChat(row, store.database.codec));
}
