import { interruptTurns } from './store/interrupt-turns.js';
import { releaseSession } from './store/release.js';
import type { Store } from './store/store.js';

export interface SweepOptions {
  /** Ids of the processes that are alive. */
  readonly alive: () => Promise<ReadonlySet<string>>;
}

/**
 * Takes the sessions of owners that are gone, or whose lease has run out, and marks their turns `interrupted`. Each in
 * its own transaction, guarded by the token that was seen: an owner that renewed in between keeps its session.
 *
 * @returns how many sessions were taken.
 */
export async function sweepSessions(store: Store, { alive }: SweepOptions): Promise<number> {
  const { database } = store;
  const now = database.now.millis;
  const { rows } = await database.statement<{ id: string; lock_token: string; lease_owner: string; expired: unknown }>(
    `select id, lock_token, lease_owner, lease_expires_at <= ${now} as expired from {realtime.sessions}
     where lock_token is not null`,
  );
  const living = rows.length === 0 ? new Set<string>() : await alive();
  let taken = 0;
  for (const row of rows) {
    // Who sweeps lives, though a machine that gave it no time has kept it from saying so.
    const dead = row.lease_owner !== store.owner && !living.has(row.lease_owner);
    if (!dead && !database.codec.parseFlag(row.expired)) continue;
    taken += await database.transaction(async (trx) => {
      const { rows: still } = await database.statement<{ id: string }>(
        `select id from {realtime.sessions} where id = ? and lock_token = ?
           and (lease_expires_at <= ${now} or lease_owner = ?) ${database.dialect === 'postgres' ? 'for update' : ''}`,
        [row.id, row.lock_token, dead ? row.lease_owner : ''],
        { trx },
      );
      if (still.length === 0 || !(await releaseSession(store, row.id, row.lock_token, trx))) return 0;
      await interruptTurns(store, row.id, trx);
      return 1;
    });
  }
  await interruptOrphans(store);
  return taken;
}

/** Turns whose session has moved on without them, for instance because their owner was fenced and then died. */
async function interruptOrphans(store: Store): Promise<void> {
  await store.database.statement(
    `update {realtime.turns} set status = 'interrupted', idempotency_key = null,
       error_code = 'turn_interrupted', error_message = 'The process that ran the turn is gone.',
       finished_at = ${store.database.now.millis}
     where status = 'running' and exists (
       select 1 from {realtime.sessions} s where s.id = session_id
         and (s.lock_token is null or s.lease_epoch > {realtime.turns}.lease_epoch))`,
  );
}
