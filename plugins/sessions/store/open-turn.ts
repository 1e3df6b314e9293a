import type { Chat, NewMessage, OpenTurnRequest } from 'mortise/contracts/sessions';
import type { BatchStatement, Transaction } from 'mortise/sdk';
import { sessionError } from '../errors.js';
import { insertChat, mergeMeta, readChat } from './chat-rows.js';
import { messageInserts } from './message-rows.js';
import { type Claim, claimSession } from './session-row.js';
import type { Lease, Session, Store } from './store.js';
import { findKeyHolder, insertTurn, interruptTurns } from './turn-rows.js';

export interface Opened {
  readonly kind: 'open';
  readonly lease: Lease;
  readonly chat: Chat;
  readonly input: readonly NewMessage[];
}

export type OpenAttempt = Opened | { readonly kind: 'busy' } | { readonly kind: 'replay'; readonly turnId: string };

/** Rolls the transaction back and carries the answer out of it. */
class RollBack extends Error {
  readonly answer: OpenAttempt;

  constructor(answer: OpenAttempt) {
    super('rolled back');
    this.answer = answer;
  }
}

/**
 * One transaction: the claim, the turn row, its chat and its input rows. The idempotency key is looked up again under
 * the claim, so that exactly one of two equal requests runs.
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
      insertTurn(store, session, chat.id, claim.epoch, request, turnId),
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

/**
 * Allocates the input's numbers from the one that the claim read: it holds the row. The same statement sets the session's
 * chat and, once, its title.
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
