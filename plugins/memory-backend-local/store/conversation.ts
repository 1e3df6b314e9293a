import { hash } from 'node:crypto';

/** The members that determine the conversation of a memory. */
interface ConversationMember {
  readonly space: string;
  readonly meta: Readonly<Record<string, unknown>>;
}

function isName(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && value !== '');
}

/**
 * The key of a memory's conversation: memories of one space with the same `conversation_id` (or `session_id`) share it.
 * Null without either.
 */
export function conversationOf({ space, meta }: ConversationMember): string | null {
  const name = [meta.conversation_id, meta.session_id].find(isName);
  return name === undefined ? null : hash('sha256', JSON.stringify([space, String(name)]), 'hex').slice(0, 32);
}
