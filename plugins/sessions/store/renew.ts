import type { Lease, Store } from './store.js';

/**
 * Moves the expiry on; false when the token is not the session's any more. An expired lease that nobody took over may
 * be renewed: the token still matches, so nobody else was there.
 */
export async function renewSession(store: Store, lease: Lease, ttlMs: number): Promise<boolean> {
  const { changes } = await store.writes.urgent(
    `update {realtime.sessions} set lease_ttl_ms = ?, lease_expires_at = ${store.database.now.millis} + ?
     where id = ? and lock_token = ?`,
    [ttlMs, ttlMs, lease.key, lease.token],
  );
  return changes === 1;
}
