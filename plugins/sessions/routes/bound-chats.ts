import type { Chat, SessionRef, SessionsService } from 'mortise/contracts/sessions';
import type { Principal } from 'mortise/sdk';
import { sessionError } from '../errors.js';

/** A key that is bound to a user may only speak of that user. @throws actor_mismatch */
export function checkActor(principal: Principal, { userId }: Pick<SessionRef, 'userId'>): void {
  if (principal.actor !== undefined && principal.actor !== userId) throw sessionError('actor_mismatch');
}

/** The chat of an id; chats of other users are not there for a key that is bound to one. @throws chat_not_found */
export async function boundChat(sessions: SessionsService, principal: Principal, chatId: string): Promise<Chat> {
  const chat = await sessions.getChat(chatId);
  if (!chat || (principal.actor !== undefined && principal.actor !== chat.session.userId)) {
    throw chatNotFound(chatId);
  }
  return chat;
}

export function chatNotFound(chatId: string) {
  return sessionError('chat_not_found', { details: { chat_id: chatId } });
}
