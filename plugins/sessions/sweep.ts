import { releaseSession } from './store/session-row.js';
import type { Store } from './store/store.js';
import { interruptOrphans, interruptTurns } from './store/turn-rows.js';

interface SweepOptions {
  /** Ids of the living processes. */
  readonly alive: () => Promise<ReadonlySet<string>>;
}

/**
 * Releases the sessions of dead owners and of expired leases, and marks their turns `interrupted`. Each in its own
 * transaction, guarded by the token that was read: an owner that renewed in between keeps its session.
 *
 * @returns how many sessions were released.
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
    // The sweeping process is alive, even if a starved machine has delayed its own heartbeat.
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
