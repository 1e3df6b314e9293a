import type { ChatSummary, TurnOutcome } from 'mortise/contracts/sessions';
import type { BatchStatement } from 'mortise/sdk';
import { sessionError } from '../errors.js';
import { messageInserts } from './message-rows.js';
import { allocateAndRelease } from './session-row.js';
import type { Lease, Store } from './store.js';
import { endTurn } from './turn-rows.js';

interface ClosingTurn {
  readonly lease: Lease;
  readonly turnId: string;
  readonly chatId: string;
  /** New name of a chat that still has its initial name; only a completed turn renames it. */
  readonly chatName: string | null;
}

/**
 * One transaction: the final rows, the turn's end, the chat's time, name and summary, and the release. A turn is visible as
 * completed only together with its answer.
 *
 * @throws session_fenced, with nothing written.
 */
export async function closeTurn(store: Store, turn: ClosingTurn, outcome: TurnOutcome): Promise<void> {
  const { database } = store;
  const messages = outcome.messages ?? [];
  await store.writes.run(async (trx) => {
    const firstSeq = await allocateAndRelease(store, turn.lease.key, turn.lease.token, messages.length, trx);
    if (firstSeq === null) throw sessionError('session_fenced');
    const place = {
      sessionKey: turn.lease.key,
      chatId: turn.chatId,
      turnId: turn.turnId,
      epoch: turn.lease.epoch,
      firstSeq,
    };
    const [ended] = await database.batch(
      [
        endTurn(store, turn.turnId, outcome),
        ...messageInserts(store, place, messages),
        touchedChat(store, turn, outcome),
        ...(outcome.summary ? [summarisedChat(turn, outcome.summary)] : []),
      ],
      { trx },
    );
    // Its owner gave it up while this transaction waited: its idempotency key may belong to another turn by now.
    if (ended?.changes !== 1) throw sessionError('session_fenced');
  });
}

function touchedChat({ database }: Store, { chatId, chatName }: ClosingTurn, { status }: TurnOutcome): BatchStatement {
  return {
    sql: `update {realtime.chats} set updated_at = ${database.now.millis},
       name = case when name = 'New Chat' then coalesce(?, name) else name end
     where id = ?`,
    bindings: [status === 'completed' ? chatName : null, chatId],
  };
}

function summarisedChat({ chatId }: ClosingTurn, { text, throughSeq }: ChatSummary): BatchStatement {
  return {
    sql: 'update {realtime.chats} set summary = ?, summary_seq = ? where id = ?',
    bindings: [text, throughSeq, chatId],
  };
}
