import type { Chat } from 'mortise/contracts/sessions';
import type { Transaction } from 'mortise/sdk';
import { type ChatRow, toChat } from '../store/rows.js';
import type { Store } from '../store/store.js';

/** Columns of a chat with the parts of its session. */
export const chatColumns = `c.id, c.session_id, c.name, c.meta, c.created_at, c.updated_at,
  s.channel, s.user_id, s.client_session_id`;

export async function readChat(store: Store, chatId: string, trx?: Transaction): Promise<Chat | undefined> {
  const { rows } = await store.database.statement<ChatRow>(
    `select ${chatColumns} from {realtime.chats} c join {realtime.sessions} s on s.id = c.session_id where c.id = ?`,
    [chatId],
    { trx },
  );
  const [row] = rows;
  return row ? toChat(row, store.database.codec) : undefined;
}

/** The chat that a turn of the session would use now. */
export async function readCurrentChat(store: Store, sessionKey: string, trx?: Transaction): Promise<Chat | undefined> {
  const { rows } = await store.database.statement<ChatRow>(
    `select ${chatColumns} from {realtime.sessions} s join {realtime.chats} c on c.id = s.current_chat_id where s.id = ?`,
    [sessionKey],
    { trx },
  );
  const [row] = rows;
  return row ? toChat(row, store.database.codec) : undefined;
}
