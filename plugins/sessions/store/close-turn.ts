import type { TurnOutcome } from 'mortise/contracts/sessions';
import type { BatchStatement } from 'mortise/sdk';
import { sessionError } from '../errors.js';
import { limitEvents } from '../turn-events.js';
import { messageInserts } from './insert-messages.js';
import { allocateAndRelease } from './release.js';
import type { Lease, Store } from './store.js';

export interface ClosingTurn {
  readonly lease: Lease;
  readonly turnId: string;
  readonly chatId: string;
  /** Name for a chat that still has the name it was born with; only a completed turn gives it. */
  readonly chatName: string | null;
}

/**
 * One transaction: the final rows, the turn's end, the chat's time and name, and the release. A completed turn has its
 * answer committed when anyone can see that it is completed.
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
    await database.batch(
      [...messageInserts(store, place, messages), endOfTurn(store, turn, outcome), touchedChat(store, turn, outcome)],
      { trx },
    );
  });
}

function endOfTurn({ database }: Store, { turnId }: ClosingTurn, outcome: TurnOutcome): BatchStatement {
  const { json, truncated } = limitEvents(outcome.events ?? []);
  return {
    sql: `update {realtime.turns} set status = ?, provider_id = coalesce(?, provider_id), model = coalesce(?, model),
       steps = ?, input_tokens = ?, output_tokens = ?, error_code = ?, error_message = ?, events = ?,
       events_truncated = ?, finished_at = ${database.now.millis},
       idempotency_key = case when ? then idempotency_key else null end
     where turn_id = ?`,
    bindings: [
      outcome.status,
      outcome.providerId ?? null,
      outcome.model ?? null,
      outcome.steps,
      outcome.usage?.inputTokens ?? null,
      outcome.usage?.outputTokens ?? null,
      outcome.error?.code ?? null,
      outcome.error?.message ?? null,
      json,
      truncated,
      outcome.status === 'completed',
      turnId,
    ],
  };
}

function touchedChat({ database }: Store, { chatId, chatName }: ClosingTurn, { status }: TurnOutcome): BatchStatement {
  return {
    sql: `update {realtime.chats} set updated_at = ${database.now.millis},
       name = case when name = 'New Chat' then coalesce(?, name) else name end
     where id = ?`,
    bindings: [status === 'completed' ? chatName : null, chatId],
  };
}

/** A worker that lost its claim writes no row of the session; it only says so on its own turn. */
export async function markFenced(store: Store, turnId: string, steps: number): Promise<void> {
  await store.database.statement(
    `update {realtime.turns} set status = 'fenced', idempotency_key = null, steps = ?, error_code = 'session_fenced',
       error_message = 'The session was taken over by another worker.',
       finished_at = ${store.database.now.millis}
     where turn_id = ? and status in ('running', 'interrupted')`,
    [steps, turnId],
  );
}
