import type { Chat, NewMessage, OpenTurnRequest } from 'mortise/contracts/sessions';
import type { BatchStatement, Transaction } from 'mortise/sdk';
import { insertChat } from '../chats/insert-chat.js';
import { mergeMeta } from '../chats/meta.js';
import { readChat } from '../chats/read-chat.js';
import { sessionError } from '../errors.js';
import { type Claim, claimSession } from './claim.js';
import { findKeyHolder } from './idempotency.js';
import { messageInserts } from './insert-messages.js';
import { interruptTurns } from './interrupt-turns.js';
import type { Lease, Session, Store } from './store.js';

export interface Opened {
  readonly kind: 'open';
  readonly lease: Lease;
  readonly chat: Chat;
  readonly input: readonly NewMessage[];
}

export type OpenAttempt = Opened | { readonly kind: 'busy' } | { readonly kind: 'replay'; readonly turnId: string };

/** Leaves a transaction without its effects but with an answer. */
class RollBack extends Error {
  readonly answer: OpenAttempt;

  constructor(answer: OpenAttempt) {
    super('rolled back');
    this.answer = answer;
  }
}

/**
 * One transaction: the claim, the turn row, the chat it belongs to, and its input rows. The idempotency key is looked
 * up again under the claim, so that of two equal requests exactly one runs.
 */
export async function openTurnOnce(
  store: Store,
  session: Session,
  request: OpenTurnRequest,
  turnId: string,
  ttlMs: number,
): Promise<OpenAttempt> {
  try {
    return await store.writes.run((trx) => openInside(store, session, request, turnId, ttlMs, trx));
  } catch (error) {
    if (error instanceof RollBack) return error.answer;
    throw error;
  }
}

async function openInside(
  store: Store,
  session: Session,
  request: OpenTurnRequest,
  turnId: string,
  ttlMs: number,
  trx: Transaction,
): Promise<OpenAttempt> {
  const claim = await claimSession(store, session, ttlMs, trx);
  if (!claim) return { kind: 'busy' };
  if (claim.leftRunning > 0) await interruptTurns(store, session.key, trx);
  if (request.idempotency) {
    const holder = await findKeyHolder(store, session.key, request.idempotency, trx);
    if (holder !== undefined) throw new RollBack({ kind: 'replay', turnId: holder });
  }
  const chat = await openChat(store, session, claim, request.chatMeta, trx);
  const place = { sessionKey: session.key, chatId: chat.id, turnId, epoch: claim.epoch, firstSeq: claim.nextSeq };
  const [allocated] = await store.database.batch(
    [
      allocateInput(claim, chat.id, request),
      newTurn(store, session, chat.id, claim.epoch, request, turnId),
      ...messageInserts(store, place, request.input),
    ],
    { trx },
  );
  if (allocated?.changes !== 1) throw sessionError('session_fenced');
  return { kind: 'open', lease: claim, chat, input: request.input };
}

async function openChat(
  store: Store,
  session: Session,
  claim: Claim,
  patch: OpenTurnRequest['chatMeta'] = {},
  trx: Transaction,
): Promise<Chat> {
  const patched = Object.keys(patch).length > 0;
  const current =
    seenChat(store, session, patched ? null : claim.currentChat) ??
    (claim.currentChatId === null ? undefined : await readChat(store, claim.currentChatId, trx));
  if (!current) return insertChat(store, session, { name: 'New Chat', meta: patch }, trx);
  if (!patched) return current;
  const meta = mergeMeta(current.meta, patch);
  await store.database.statement(
    'update {realtime.chats} set meta = ? where id = ?',
    [store.database.codec.json(meta), current.id],
    { trx },
  );
  return { ...current, meta };
}

function seenChat(store: Store, session: Session, seen: Claim['currentChat']): Chat | undefined {
  if (!seen) return undefined;
  const { channel, userId, sessionId, key } = session;
  const meta = store.database.codec.parseJson<Record<string, unknown>>(seen.meta);
  return { ...seen, session: { channel, userId, sessionId }, sessionKey: key, meta };
}

function newTurn(
  store: Store,
  session: Session,
  chatId: string,
  epoch: number,
  request: OpenTurnRequest,
  turnId: string,
): BatchStatement {
  return {
    sql: `insert into {realtime.turns} (turn_id, session_id, chat_id, status, idempotency_key, body_sha256, lease_epoch,
       owner, prompt_mode, provider_id, model, trace_id, correlation_id, started_at)
     values (?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ${store.database.now.millis})`,
    bindings: [
      turnId,
      session.key,
      chatId,
      request.idempotency?.key ?? null,
      request.idempotency?.bodySha256 ?? null,
      epoch,
      store.owner,
      request.promptMode ?? null,
      request.providerId ?? null,
      request.model ?? null,
      request.traceId,
      request.correlationId,
    ],
  };
}

/**
 * Numbers for the input, from the one that the claim saw: it holds the row. The session learns its chat and, once, its
 * title in the same statement.
 */
function allocateInput(claim: Claim, chatId: string, request: OpenTurnRequest): BatchStatement {
  return {
    sql: `update {realtime.sessions} set next_seq = next_seq + ?, current_chat_id = ?, title = coalesce(title, ?)
     where id = ? and lock_token = ? and next_seq = ?`,
    bindings: [request.input.length, chatId, titleOf(request), claim.key, claim.token, claim.nextSeq],
  };
}

function titleOf(request: OpenTurnRequest): string | null {
  const text = request.input.find(({ role, content }) => role === 'user' && content.trim() !== '')?.content.trim();
  return text === undefined ? null : [...text.slice(0, 60)].slice(0, 30).join('');
}
