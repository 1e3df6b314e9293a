import type { Store } from './store.js';

/** Asks a running turn to end; false when it has ended already. */
export async function requestCancel(store: Store, turnId: string): Promise<boolean> {
  const { changes } = await store.database.statement(
    "update {realtime.turns} set cancel_requested = ? where turn_id = ? and status = 'running'",
    [true, turnId],
  );
  return changes === 1;
}

export async function readCancelRequest(store: Store, turnId: string): Promise<boolean> {
  const { rows } = await store.database.statement<{ cancel_requested: unknown }>(
    'select cancel_requested from {realtime.turns} where turn_id = ?',
    [turnId],
  );
  return rows.length > 0 && store.database.codec.parseFlag(rows[0]?.cancel_requested);
}
