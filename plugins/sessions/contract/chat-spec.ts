import type { Chat } from './sessions.js';

/** RFC 3339 UTC with whole seconds. */
export function wireTime(millis: number): string {
  return `${new Date(millis).toISOString().slice(0, 19)}Z`;
}

/** A chat in the form of the API: always the same eight members. */
export function chatSpec(chat: Chat) {
  return {
    id: chat.id,
    name: chat.name,
    session_id: chat.session.sessionId,
    user_id: chat.session.userId,
    channel: chat.session.channel,
    created_at: wireTime(chat.createdAt),
    updated_at: wireTime(chat.updatedAt),
    meta: chat.meta,
  };
}
