import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningTurns } from './running-turns.js';
import { requestCancel } from './store/cancel-turn.js';
import type { Store } from './store/store.js';

export const cancelChannel = 'session-turn-cancel';

/**
 * Asks the owner of a running turn to end it: at once when it runs here, by a notification when it runs in another
 * process, and at the next renewal when the notification is lost.
 *
 * @returns false when the turn has ended already.
 */
export async function cancelTurn(store: Store, running: RunningTurns, turnId: string): Promise<boolean> {
  if (!(await requestCancel(store, turnId))) return false;
  if (!running.cancel(turnId)) await store.database.notify(cancelChannel, turnId);
  return true;
}

/** Ends the running turns of a chat and waits for it, at most `waitMs`. */
export async function endTurns(store: Store, running: RunningTurns, chatId: string, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs;
  const asked = new Set<string>();
  for (;;) {
    const { rows } = await store.database.statement<{ turn_id: string }>(
      "select turn_id from {realtime.turns} where chat_id = ? and status = 'running'",
      [chatId],
    );
    if (rows.length === 0 || performance.now() >= deadline) return;
    for (const { turn_id: turnId } of rows) {
      if (asked.has(turnId)) continue;
      asked.add(turnId);
      await cancelTurn(store, running, turnId);
    }
    await sleep(20);
  }
}
