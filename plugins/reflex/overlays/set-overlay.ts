import type { Database, TransactionOption } from 'mortise/sdk';
import type { Overlay } from './overlay.js';

/** Stores an override; its end counts from now, by the clock of the database that all processes share. */
export async function setOverlay(
  database: Database,
  { layer, key, value, leftMs, reason, obsId }: Overlay,
  options: TransactionOption,
): Promise<void> {
  await database.statement(
    `insert into {gate.overlays} (layer, override_key, value, expires_at, reason, obs_id)
     values (?, ?, ?, ${database.now.millis} + ?, ?, ?)
     on conflict (layer, override_key) do update set
       value = excluded.value, expires_at = excluded.expires_at, reason = excluded.reason, obs_id = excluded.obs_id`,
    [layer, key, JSON.stringify(value), leftMs === null ? null : Math.round(leftMs), reason, obsId],
    options,
  );
}
