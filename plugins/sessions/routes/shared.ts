import {
  type Chat,
  type SessionRef,
  type SessionsService,
  type TurnDetail,
  wireTime,
} from 'mortise/contracts/sessions';
import { boundUser, type Principal } from 'mortise/sdk';
import { sessionError } from '../errors.js';

/** The longest list without paging, and the largest page. */
export const listLimit = 1_000;

/** The query's `limit`; the whole list (up to 1,000) when absent. */
export function readLimit(query: URLSearchParams): number {
  const text = query.get('limit');
  if (text === null) return listLimit;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > listLimit) {
    throw sessionError('invalid_request', { message: 'limit must be an integer from 1 to 1000' });
  }
  return limit;
}

export function writeCursor(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** The position that {@link writeCursor} encoded. `shape` names the types of its members. */
export function readCursor<Shape extends readonly ('string' | 'number')[]>(
  query: URLSearchParams,
  ...shape: Shape
): { readonly [I in keyof Shape]: Shape[I] extends 'number' ? number : string } | undefined {
  const text = query.get('cursor');
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (Array.isArray(value) && value.length === shape.length && shape.every((type, i) => isMember(value[i], type))) {
      return value as unknown as { readonly [I in keyof Shape]: Shape[I] extends 'number' ? number : string };
    }
  } catch {
    // Every malformed cursor gets the same answer.
  }
  throw sessionError('invalid_request', { message: 'invalid cursor' });
}

function isMember(value: unknown, type: 'string' | 'number'): boolean {
  return type === 'number' ? Number.isSafeInteger(value) : typeof value === 'string';
}

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
