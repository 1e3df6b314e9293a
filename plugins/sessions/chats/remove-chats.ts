import type { SessionRef } from 'mortise/contracts/sessions';
import { endTurns } from '../cancel-turns.js';
import type { RunningTurns } from '../running-turns.js';
import { asSession, type Store } from '../store/store.js';
import { defaultChat, ensureDefaultChat } from './default-chat.js';
import { deleteChat } from './delete-chat.js';
import { readChat, readCurrentChat } from './read-chat.js';

/** How long a running turn may take to end by itself before its chat is removed under it, milliseconds. */
const patienceMs = 2_000;

/** Ends running turns, then removes the chats, all in one transaction. Unknown ids are ignored. */
export async function removeChats(store: Store, running: RunningTurns, chatIds: readonly string[]): Promise<number> {
  for (const chatId of chatIds) await endTurns(store, running, chatId, patienceMs);
  return store.database.transaction(async (trx) => {
    let removed = 0;
    for (const chatId of chatIds) {
      const chat = await readChat(store, chatId, trx);
      if (chat && (await deleteChat(store, chat, trx))) removed += 1;
    }
    return removed;
  });
}

/**
 * Removes the session's current chat, so that the next turn starts a new one even where the session has other chats.
 * The default chat is there again at once, empty.
 */
export async function startAnew(store: Store, running: RunningTurns, ref: SessionRef): Promise<void> {
  const session = asSession(ref);
  const chat = await readCurrentChat(store, session.key);
  if (!chat) return;
  await endTurns(store, running, chat.id, patienceMs);
  await store.database.transaction(async (trx) => {
    await deleteChat(store, chat, trx);
    await store.database.statement(
      'update {realtime.sessions} set current_chat_id = null where id = ?',
      [session.key],
      { trx },
    );
  });
  if (chat.id === defaultChat.id) await ensureDefaultChat(store);
}
