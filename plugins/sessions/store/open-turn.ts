import type { Chat, OpenTurnRequest, StoredMessage, Transaction } from 'mortise/sdk';
import { insertChat } from '../chats/insert-chat.js';
import { mergeMeta } from '../chats/meta.js';
import { readChat } from '../chats/read-chat.js';
import { sessionError } from '../errors.js';
import { claimSession } from './claim.js';
import { findKeyHolder } from './idempotency.js';
import { insertMessages } from './insert-messages.js';
import { interruptTurns } from './interrupt-turns.js';
import type { Lease, Session, Store } from './store.js';

export interface Opened {
  readonly kind: 'open';
  readonly lease: Lease;
  readonly chat: Chat;
  readonly input: readonly StoredMessage[];
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
  await interruptTurns(store, session.key, trx);
  if (request.idempotency) {
    const holder = await findKeyHolder(store, session.key, request.idempotency, trx);
    if (holder !== undefined) throw new RollBack({ kind: 'replay', turnId: holder });
  }
  const chat = await openChat(store, session, claim.currentChatId, request.chatMeta, trx);
  await insertTurn(store, session, chat.id, claim.epoch, request, turnId, trx);
  const firstSeq = await allocateInput(store, claim, chat.id, request, trx);
  const place = { sessionKey: session.key, chatId: chat.id, turnId, epoch: claim.epoch, firstSeq };
  const input = await insertMessages(store, place, request.input, trx);
  return { kind: 'open', lease: claim, chat, input };
}

async function openChat(
  store: Store,
  session: Session,
  currentChatId: string | null,
  patch: OpenTurnRequest['chatMeta'],
  trx: Transaction,
): Promise<Chat> {
  const current = currentChatId === null ? undefined : await readChat(store, currentChatId, trx);
  if (!current) return insertChat(store, session, { name: 'New Chat', meta: patch ?? {} }, trx);
  if (patch === undefined || Object.keys(patch).length === 0) return current;
  const meta = mergeMeta(current.meta, patch);
  await store.database.statement(
    'update {realtime.chats} set meta = ? where id = ?',
    [store.database.codec.json(meta), current.id],
    { trx },
  );
  return { ...current, meta };
}

async function insertTurn(
  store: Store,
  session: Session,
  chatId: string,
  epoch: number,
  request: OpenTurnRequest,
  turnId: string,
  trx: Transaction,
): Promise<void> {
  await store.database.statement(
    `insert into {realtime.turns} (turn_id, session_id, chat_id, status, idempotency_key, body_sha256, lease_epoch, owner,
       prompt_mode, provider_id, model, trace_id, correlation_id, started_at)
     values (?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ${store.database.now.millis})`,
    [
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
    { trx },
  );
}

/** Numbers for the input; the session learns its chat and, once, its title in the same statement. */
async function allocateInput(
  store: Store,
  claim: Lease,
  chatId: string,
  request: OpenTurnRequest,
  trx: Transaction,
): Promise<number> {
  const { rows } = await store.database.statement<{ next_seq: number }>(
    `update {realtime.sessions} set next_seq = next_seq + ?, current_chat_id = ?, title = coalesce(title, ?)
     where id = ? and lock_token = ? returning next_seq`,
    [request.input.length, chatId, titleOf(request), claim.key, claim.token],
    { trx },
  );
  const [row] = rows;
  if (!row) throw sessionError('session_fenced');
  return row.next_seq - request.input.length;
}

function titleOf(request: OpenTurnRequest): string | null {
  const text = request.input.find(({ role, content }) => role === 'user' && content.trim() !== '')?.content.trim();
  return text === undefined ? null : [...text.slice(0, 60)].slice(0, 30).join('');
}
