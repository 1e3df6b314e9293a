import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from './store/store.js';
import { readRequestedCancels, requestCancel } from './store/turn-rows.js';

export const cancelChannel = 'session-turn-cancel';

/**
 * Asks the owner of a running turn to end it: directly when it runs in this process, else by a notification; if that is
 * lost, the owner reads the request with the next renewal of its lease.
 *
 * @returns false when the turn has ended already.
 */
export async function cancelTurn(store: Store, running: RunningTurns, turnId: string): Promise<boolean> {
  if (!(await requestCancel(store, turnId))) return false;
  if (!running.cancel(turnId)) await store.database.notify(cancelChannel, turnId);
  return true;
}

/** Ends the turns of this process that another one asked to end: SQLite has no notifications between processes. */
export async function followRequests(store: Store, running: RunningTurns): Promise<void> {
  if (running.size === 0) return;
  for (const turnId of await readRequestedCancels(store)) running.cancel(turnId);
}

/** Ends the running turns of a chat and waits until they have ended, at most `waitMs`. */
export async function endTurns(store: Store, running: RunningTurns, chatId: string, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs;
  const requested = new Set<string>();
  for (;;) {
    const { rows } = await store.database.statement<{ turn_id: string }>(
      "select turn_id from {realtime.turns} where chat_id = ? and status = 'running'",
      [chatId],
    );
    if (rows.length === 0 || performance.now() >= deadline) return;
    for (const { turn_id: turnId } of rows) {
      if (requested.has(turnId)) continue;
      requested.add(turnId);
      await cancelTurn(store, running, turnId);
    }
    await sleep(20);
  }
}

/** The turns that run in this process, by id. */
export class RunningTurns {
  readonly #cancels = new Map<string, () => void>();

  /** Called before the turn's row is visible, so that no cancellation is missed in between. */
  add(turnId: string, cancel: () => void): void {
    this.#cancels.set(turnId, cancel);
  }

  remove(turnId: string): void {
    this.#cancels.delete(turnId);
  }

  /** False when the turn does not run here. */
  cancel(turnId: string): boolean {
    const cancel = this.#cancels.get(turnId);
    cancel?.();
    return cancel !== undefined;
  }

  get size(): number {
    return this.#cancels.size;
  }
}
