import type { GateLayer, GateOverrideKey } from 'mortise/contracts/gate';
import type { Database } from 'mortise/sdk';
import type { Overlay } from './overlay.js';

interface OverlayRow {
  readonly layer: GateLayer;
  readonly override_key: GateOverrideKey;
  readonly value: string;
  readonly expires_at: number | null;
  readonly left_ms: number | null;
  readonly reason: string | null;
  readonly obs_id: string | null;
}

/** All overrides that are stored, those whose time is up too. */
export async function readOverlays(database: Database): Promise<readonly Overlay[]> {
  const { rows } = await database.statement<OverlayRow>(
    `select layer, override_key, value, expires_at, expires_at - ${database.now.millis} as left_ms, reason, obs_id
     from {gate.overlays}`,
  );
  return rows.map((row) => ({
    layer: row.layer,
    key: row.override_key,
    value: JSON.parse(row.value),
    leftMs: row.left_ms === null ? null : Number(row.left_ms),
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
    reason: row.reason,
    obsId: row.obs_id,
  }));
}
