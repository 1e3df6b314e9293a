import type { ModelContentPart, ModelMessage, ModelToolCall, TransactionOption } from 'mortise/sdk';
import type { Idempotency } from './idempotency.js';

/** The three parts that identify a session. */
export interface SessionRef {
  /** Lower-case channel name; `ws` is the realtime socket. */
  readonly channel: string;
  /** 1 to 128 code points. */
  readonly userId: string;
  /** 1 to 256 code points; the id that the client uses. */
  readonly sessionId: string;
}

export type TurnStatus =
  | 'running'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'interrupted'
  | 'step_limit'
  | 'timed_out'
  | 'fenced';

export type MessageRole = 'user' | 'assistant' | 'system' | 'tool';

/** `limit`: the text of a turn that reached its step limit; the middle three mark partial text. */
export type MessageStatus = 'complete' | 'error' | 'cancelled' | 'interrupted' | 'limit';

export interface NewMessage {
  readonly role: MessageRole;
  /** The text parts, joined by a newline. */
  readonly content: string;
  /** Absent: one text part with `content`. */
  readonly parts?: readonly ModelContentPart[] | undefined;
  /** `message` when absent. */
  readonly type?: string | undefined;
  readonly toolCalls?: readonly ModelToolCall[] | undefined;
  readonly toolCallId?: string | undefined;
  /** `complete` when absent. */
  readonly status?: MessageStatus | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

export interface StoredMessage extends NewMessage {
  /** `msg-` and 19 digits. */
  readonly id: string;
  readonly sessionKey: string;
  readonly chatId: string | null;
  readonly turnId: string | null;
  /** From 0, without gaps, over all chats of the session. */
  readonly seq: number;
  readonly status: MessageStatus;
  /** Epoch of the lease it was written under; null for imported rows. */
  readonly epoch: number | null;
  /** Epoch milliseconds of the database's clock. */
  readonly createdAt: number;
}

/** A named conversation of a session. */
export interface Chat {
  readonly id: string;
  readonly name: string;
  readonly session: SessionRef;
  readonly sessionKey: string;
  readonly meta: Readonly<Record<string, unknown>>;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface TurnUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface Turn {
  readonly turnId: string;
  readonly chatId: string;
  readonly sessionKey: string;
  readonly status: TurnStatus;
  readonly promptMode: string | null;
  readonly providerId: string | null;
  readonly model: string | null;
  readonly steps: number;
  readonly usage: TurnUsage | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly correlationId: string | null;
  readonly traceId: string | null;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly finishedAt: number | null;
}

/** A turn with its input, reply and events. */
export interface TurnDetail extends Turn {
  readonly input: readonly { readonly role: string; readonly content: string }[];
  /** Text of the final assistant row; null while there is none. */
  readonly reply: string | null;
  /** The turn's events, adjacent deltas merged; at most 64 KiB, oldest deltas dropped first. */
  readonly events: readonly Readonly<Record<string, unknown>>[];
  readonly eventsTruncated: boolean;
}

export interface OpenTurnRequest {
  readonly session: SessionRef;
  /** Stored with the turn row, in one transaction with the claim. */
  readonly input: readonly NewMessage[];
  /** A key is unique per session for 24 hours. */
  readonly idempotency?: Idempotency | undefined;
  readonly promptMode?: string | undefined;
  readonly providerId?: string | undefined;
  readonly model?: string | undefined;
  /** Merged into the chat's meta. */
  readonly chatMeta?: Readonly<Record<string, unknown>> | undefined;
  readonly correlationId: string;
  readonly traceId: string;
}

export interface OpenTurnOptions {
  /** Milliseconds to wait while another owner, in this or another process, holds the session; 0 when absent. */
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type OpenTurnResult =
  | { readonly kind: 'open'; readonly turn: OpenTurn }
  /** The key was used by a completed turn with the same content: nothing was written. */
  | { readonly kind: 'replay'; readonly turn: TurnDetail }
  /** Another owner held the session during the whole wait: nothing was written. */
  | { readonly kind: 'busy' };

/** How much of a history is read: rows until the sum of their sizes exceeds the budget, and at least two whole turns. */
export interface HistoryLimit {
  readonly budget: number;
  sizeOf(message: NewMessage): number;
}

export interface RecentHistory {
  /** Whole turns, oldest first, the input last. */
  readonly messages: readonly StoredMessage[];
  /** Stands for all rows before those that could be read. */
  readonly summary: string | undefined;
  /** Turns after the summary that were not read. */
  readonly omitted: number;
}

/** A running turn: the session is claimed, a heartbeat renews the claim, and every write is fenced by it. */
export interface OpenTurn {
  readonly turnId: string;
  readonly chat: Chat;
  readonly sessionKey: string;
  /** Grows with every claim of the session, so that outside systems can refuse an older one. */
  readonly epoch: number;
  /** Aborted with a `MortiseError` `session_fenced` (the claim is lost) or `turn_cancelled`. */
  readonly signal: AbortSignal;
  /** All rows for the model, oldest first, the input last. */
  history(): Promise<readonly StoredMessage[]>;
  /** The rows after the chat's summary, read from the newest back until they exceed the limit. */
  recentHistory(limit: HistoryLimit): Promise<RecentHistory>;
  /**
   * Stores a summary that stands for all rows of the chat up to a number.
   * @throws MortiseError `session_fenced` (409).
   */
  storeSummary(summary: ChatSummary): Promise<void>;
  /** Appends rows in one fenced transaction. @throws MortiseError `session_fenced` (409). */
  append(messages: readonly NewMessage[]): Promise<readonly StoredMessage[]>;
  /**
   * Writes final rows, turn row and release in one transaction. A turn whose claim is lost writes no row and only marks
   * itself `fenced`. A second call does nothing.
   * @throws MortiseError `session_fenced` (409).
   */
  close(outcome: TurnOutcome): Promise<void>;
}

export interface TurnOutcome {
  readonly status: Exclude<TurnStatus, 'running'>;
  readonly messages?: readonly NewMessage[] | undefined;
  readonly providerId?: string | undefined;
  readonly model?: string | undefined;
  readonly steps: number;
  readonly usage?: TurnUsage | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly events?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** Stored in the same transaction. */
  readonly summary?: ChatSummary | undefined;
}

/** A summary of all rows of a chat up to a number. */
export interface ChatSummary {
  readonly text: string;
  readonly throughSeq: number;
}

/** An entry of a list of sessions. */
export interface SessionListing {
  readonly session: SessionRef;
  /** The beginning of the first user message; null before that. */
  readonly title: string | null;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly messageCount: number;
  /** A turn runs in it, in this or another process. */
  readonly busy: boolean;
}

/** A claimed session outside of a turn. */
export interface SessionLease {
  readonly sessionKey: string;
  readonly epoch: number;
  readonly signal: AbortSignal;
  append(messages: readonly NewMessage[], options?: { readonly turnId?: string }): Promise<readonly StoredMessage[]>;
}

export interface MessagePage {
  /** Newest N, oldest first. */
  readonly messages: readonly (StoredMessage & { readonly turnStatus: TurnStatus | null })[];
  /** `beforeSeq` of the next page; null when there are no older rows. */
  readonly before: number | null;
}

export interface DeleteChatsOptions {
  /** Turns and messages stay and are found by the turn's id; only the chat is removed. */
  readonly keepTurns?: boolean;
}

/** The one store of sessions, chats, turns and messages. */
export interface SessionsService {
  /** The unique key of a session. */
  key(session: SessionRef): string;
  /** The parts of a key made by {@link key}; undefined for any other text. */
  parseKey(key: string): SessionRef | undefined;

  /**
   * Claims the session, writes the turn and its input, and checks the idempotency key: all in one transaction.
   * @throws MortiseError `turn_in_progress` (409), `idempotency_conflict` (409), `store_error` (500).
   */
  openTurn(request: OpenTurnRequest, options?: OpenTurnOptions): Promise<OpenTurnResult>;
  /** The completed turn a key belongs to, before anything is claimed. Throws as {@link openTurn}. */
  findReplay(session: SessionRef, idempotency: Idempotency): Promise<TurnDetail | undefined>;
  /**
   * Claims the session, renews the claim, runs, and releases in all cases. Null when another owner holds the session.
   * The lease's signal aborts when the claim is lost.
   */
  withLease<T>(
    session: SessionRef,
    run: (lease: SessionLease) => Promise<T>,
    options?: { readonly ttlMs?: number },
  ): Promise<T | null>;
  /** Rows in the form for the model: repaired, so that every tool call has exactly one result. Pure. */
  modelMessages(rows: readonly StoredMessage[]): readonly ModelMessage[];

  /** Asks the owner of a running turn, in this or another process, to end it. False when it has ended already. */
  cancelTurn(turnId: string): Promise<boolean>;
  /** @returns undefined for an unknown id. */
  getTurn(turnId: string): Promise<TurnDetail | undefined>;
  /** The running turn of the session, in this or another process. */
  runningTurn(session: SessionRef): Promise<Turn | undefined>;
  /** Sessions of a user in a channel that hold at least one chat, last used first. */
  listSessions(filter: {
    readonly channel: string;
    readonly userId: string;
    readonly limit: number;
    /** Position of the previous page's last entry. */
    readonly after?: { readonly updatedAt: number; readonly sessionId: string } | undefined;
  }): Promise<readonly SessionListing[]>;
  /** The running or completed turn that holds an idempotency key. */
  turnByKey(session: SessionRef, idempotencyKey: string): Promise<Turn | undefined>;

  getChat(chatId: string, options?: TransactionOption): Promise<Chat | undefined>;
  currentChat(session: SessionRef, options?: TransactionOption): Promise<Chat | undefined>;
  listChats(filter?: { readonly userId?: string; readonly channel?: string }): Promise<readonly Chat[]>;
  /** Creates or overwrites; the chat becomes the current one of its session. @throws MortiseError `invalid_chat` (400). */
  saveChat(chat: {
    readonly id?: string | undefined;
    readonly name?: string | undefined;
    readonly session: SessionRef;
    readonly meta?: Readonly<Record<string, unknown>> | undefined;
  }): Promise<Chat>;
  /** Merges members into the meta; a member that is undefined is removed. */
  patchChatMeta(
    chatId: string,
    patch: Readonly<Record<string, unknown>>,
    options?: TransactionOption,
  ): Promise<boolean>;
  /** Ends running turns, then removes the chats with all their rows. Unknown ids are ignored. @returns how many. */
  deleteChats(chatIds: readonly string[], options?: DeleteChatsOptions): Promise<number>;
  /** Ends a running turn and removes the session's current chat; the next turn starts a new one. */
  startAnew(session: SessionRef): Promise<void>;

  /** Rows for display, always read from the database: of a chat, or of the session's current chat. */
  display(
    where: { readonly chatId: string } | { readonly session: SessionRef },
    page?: { readonly limit?: number; readonly beforeSeq?: number },
  ): Promise<MessagePage>;
}
