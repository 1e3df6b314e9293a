import type { Chat, MessageRole, MessageStatus, StoredMessage, Turn, TurnStatus } from 'mortise/contracts/sessions';
import type { Database, ModelContentPart, ModelToolCall } from 'mortise/sdk';

export interface MessageRow {
  readonly id: string;
  readonly session_id: string;
  readonly chat_id: string | null;
  readonly turn_id: string | null;
  readonly seq: number;
  readonly role: string;
  readonly type: string;
  readonly content: string;
  readonly parts: unknown;
  readonly tool_calls: unknown;
  readonly tool_call_id: string | null;
  readonly status: string;
  readonly lease_epoch: number | null;
  readonly meta: unknown;
  readonly created_at: number;
}

export interface ChatRow {
  readonly id: string;
  readonly session_id: string;
  readonly name: string;
  readonly meta: unknown;
  readonly created_at: number;
  readonly updated_at: number;
  readonly channel: string;
  readonly user_id: string;
  readonly client_session_id: string;
}

export interface TurnRow {
  readonly turn_id: string;
  readonly session_id: string;
  readonly chat_id: string;
  readonly status: string;
  readonly body_sha256: string | null;
  readonly prompt_mode: string | null;
  readonly provider_id: string | null;
  readonly model: string | null;
  readonly steps: number;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly events: unknown;
  readonly events_truncated: unknown;
  readonly trace_id: string | null;
  readonly correlation_id: string | null;
  readonly started_at: number;
  readonly finished_at: number | null;
}

type Codec = Database['codec'];

export function toMessage(row: MessageRow, codec: Codec): StoredMessage {
  return {
    id: row.id,
    sessionKey: row.session_id,
    chatId: row.chat_id,
    turnId: row.turn_id,
    seq: row.seq,
    role: row.role as MessageRole,
    type: row.type,
    content: String(row.content ?? ''),
    ...defined('parts', readParts(readJson(row.parts, codec))),
    ...(row.tool_calls === null ? {} : { toolCalls: readToolCalls(readJson(row.tool_calls, codec)) }),
    ...(row.tool_call_id === null ? {} : { toolCallId: row.tool_call_id }),
    status: row.status as MessageStatus,
    epoch: row.lease_epoch,
    ...defined('meta', readJson<Record<string, unknown>>(row.meta, codec)),
    createdAt: row.created_at,
  };
}

/** Undefined for null, and for a text that is not JSON, which SQLite cannot refuse: one such row must not end its session. */
function readJson<T>(stored: unknown, codec: Codec): T | undefined {
  if (stored === null) return undefined;
  try {
    return codec.parseJson<T>(stored);
  } catch {
    return undefined;
  }
}

/** Undefined unless the stored value is a list of parts: the message then has its text. */
function readParts(stored: unknown): readonly ModelContentPart[] | undefined {
  const isPart = (part: unknown): boolean =>
    typeof part === 'object' && part !== null && typeof (part as { type?: unknown }).type === 'string';
  return Array.isArray(stored) && stored.every(isPart) ? stored : undefined;
}

function defined<K extends string, V>(name: K, value: V | undefined): { readonly [key in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [key in K]: V });
}

export function toChat(row: ChatRow, codec: Codec): Chat {
  return {
    id: row.id,
    name: row.name,
    session: { channel: row.channel, userId: row.user_id, sessionId: row.client_session_id },
    sessionKey: row.session_id,
    meta: codec.parseJson<Record<string, unknown>>(row.meta),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function toTurn(row: TurnRow): Turn {
  return {
    turnId: row.turn_id,
    chatId: row.chat_id,
    sessionKey: row.session_id,
    status: row.status as TurnStatus,
    promptMode: row.prompt_mode,
    providerId: row.provider_id,
    model: row.model,
    steps: row.steps,
    usage:
      row.input_tokens === null || row.output_tokens === null
        ? null
        : { inputTokens: row.input_tokens, outputTokens: row.output_tokens },
    error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    correlationId: row.correlation_id,
    traceId: row.trace_id,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  };
}

/** Stored in the form of the chat-completions API, so that other tools can read the rows. */
export function writeToolCalls(calls: readonly ModelToolCall[]): unknown {
  return calls.map(({ id, name, arguments: text }) => ({ id, type: 'function', function: { name, arguments: text } }));
}

/** Undefined unless the stored value is a list of calls with distinct ids: repair then treats the row as plain text. */
export function readToolCalls(stored: unknown): readonly ModelToolCall[] | undefined {
  if (!Array.isArray(stored) || stored.length === 0) return undefined;
  const calls: ModelToolCall[] = [];
  const ids = new Set<string>();
  for (const item of stored as readonly unknown[]) {
    const { id, function: call } = (item ?? {}) as { id?: unknown; function?: { name?: unknown; arguments?: unknown } };
    if (typeof id !== 'string' || typeof call?.name !== 'string' || typeof call.arguments !== 'string')
      return undefined;
    if (id === '' || ids.has(id)) return undefined;
    ids.add(id);
    calls.push({ id, name: call.name, arguments: call.arguments });
  }
  return calls;
}
