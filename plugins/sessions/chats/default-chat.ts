import type { SessionRef } from 'mortise/contracts/sessions';
import type { Transaction } from 'mortise/sdk';
import { asSession, type Store } from '../store/store.js';
import { ensureSession } from './ensure-session.js';
import { insertChat } from './insert-chat.js';
import { readChat } from './read-chat.js';

/** The chat that is there from the first start on and cannot be deleted. */
export const defaultChat = {
  id: 'chat-default',
  name: 'Default Chat',
  session: { channel: 'console', userId: 'demo-user', sessionId: 'session-default' } satisfies SessionRef,
  meta: { system_default: true },
} as const;

/** Makes the default chat when its row is missing, and the current chat of its session when that has none. */
export function ensureDefaultChat(store: Store): Promise<void> {
  return store.database.transaction(async (trx) => {
    const session = asSession(defaultChat.session);
    await ensureSession(store, session, trx);
    if (!(await readChat(store, defaultChat.id, trx))) await insertChat(store, session, defaultChat, trx);
    await adoptDefaultChat(store, trx);
  });
}

async function adoptDefaultChat(store: Store, trx: Transaction): Promise<void> {
  await store.database.statement(
    'update {realtime.sessions} set current_chat_id = ? where id = ? and current_chat_id is null',
    [defaultChat.id, asSession(defaultChat.session).key],
    { trx },
  );
}
