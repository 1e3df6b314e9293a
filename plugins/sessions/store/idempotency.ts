import type { Transaction } from 'mortise/sdk';
import { sessionError } from '../errors.js';
import type { Store } from './store.js';

/** How long a key belongs to its turn, milliseconds. */
export const keyLifetimeMs = 24 * 3_600_000;

export interface Idempotency {
  readonly key: string;
  readonly bodySha256: string;
}

/**
 * The completed turn that a key belongs to. Turns that end without success give their key up when they close; one that
 * is older than a day loses it here.
 *
 * @throws turn_in_progress, idempotency_conflict
 */
export async function findKeyHolder(
  store: Store,
  sessionKey: string,
  idempotency: Idempotency,
  trx?: Transaction,
): Promise<string | undefined> {
  const now = store.database.now.millis;
  const { rows } = await store.database.statement<{
    turn_id: string;
    status: string;
    body_sha256: string | null;
    age: number;
  }>(
    `select turn_id, status, body_sha256, ${now} - started_at as age from {realtime.turns}
     where session_id = ? and idempotency_key = ?`,
    [sessionKey, idempotency.key],
    { trx },
  );
  const [holder] = rows;
  if (!holder) return undefined;
  if (holder.status === 'running') throw sessionError('turn_in_progress', { details: { turn_id: holder.turn_id } });
  if (holder.age > keyLifetimeMs) {
    await store.database.statement(
      'update {realtime.turns} set idempotency_key = null where turn_id = ?',
      [holder.turn_id],
      { trx },
    );
    return undefined;
  }
  if (holder.body_sha256 !== idempotency.bodySha256) throw sessionError('idempotency_conflict');
  return holder.turn_id;
}
