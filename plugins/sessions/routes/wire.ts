import type { Chat, TurnDetail } from 'mortise/contracts/sessions';

/** RFC 3339 UTC with whole seconds. */
export function wireTime(millis: number): string {
  return `${new Date(millis).toISOString().slice(0, 19)}Z`;
}

/** A chat as the API shows it: always the same eight members. */
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
