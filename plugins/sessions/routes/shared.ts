import {
  type Chat,
  type SessionRef,
  type SessionsService,
  type TurnDetail,
  wireTime,
} from 'mortise/contracts/sessions';
import { boundUser, type Principal } from 'mortise/sdk';
import { sessionError } from '../errors.js';

/** Refuses a key that is bound to another user. @throws actor_mismatch */
export function checkActor(principal: Principal, { userId }: Pick<SessionRef, 'userId'>): void {
  const user = boundUser(principal);
  if (user !== undefined && user !== userId) throw sessionError('actor_mismatch');
}

/** The chat of an id; a key that is bound to a user does not see chats of others. @throws chat_not_found */
export async function boundChat(sessions: SessionsService, principal: Principal, chatId: string): Promise<Chat> {
  const chat = await sessions.getChat(chatId);
  const user = boundUser(principal);
  if (!chat || (user !== undefined && user !== chat.session.userId)) {
    throw chatNotFound(chatId);
  }
  return chat;
}

export function chatNotFound(chatId: string) {
  return sessionError('chat_not_found', { details: { chat_id: chatId } });
}

export function turnRecord(turn: TurnDetail) {
  return {
    turn_id: turn.turnId,
    chat_id: turn.chatId,
    status: turn.status,
    prompt_mode: turn.promptMode ?? 'default',
    provider_id: turn.providerId,
    model: turn.model,
    steps: turn.steps,
    usage: turn.usage ? { input_tokens: turn.usage.inputTokens, output_tokens: turn.usage.outputTokens } : null,
    error: turn.error,
    input: turn.input,
    reply: turn.reply,
    correlation_id: turn.correlationId,
    started_at: wireTime(turn.startedAt),
    finished_at: turn.finishedAt === null ? null : wireTime(turn.finishedAt),
  };
}
