import type { GateLayer, GateLayerEntry, GateOverrideKey } from 'mortise/contracts/gate';
import type { Database, TransactionOption } from 'mortise/sdk';

/** A stored override, as all processes see it. */
export interface Overlay {
  readonly layer: GateLayer;
  readonly key: GateOverrideKey;
  readonly value: GateLayerEntry['value'];
  /** Milliseconds until it expires, by the clock of the database; null = until cleared. */
  readonly leftMs: number | null;
  /** Epoch milliseconds, for display. */
  readonly expiresAt: number | null;
  readonly reason: string | null;
  /** The observation that requested it; every change has its own. */
  readonly obsId: string | null;
}

/** The map key of an override. */
export function overlayName({ layer, key }: Pick<Overlay, 'layer' | 'key'>): string {
  return `${layer} ${key}`;
}

interface OverlayRow {
  readonly layer: GateLayer;
  readonly override_key: GateOverrideKey;
  readonly value: string;
  readonly expires_at: number | null;
  readonly left_ms: number | null;
  readonly reason: string | null;
  readonly obs_id: string | null;
}

/** Reads all stored overrides, including expired ones. */
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

/** Stores an override. Its expiry is computed from `leftMs` by the database's clock, which all processes share. */
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

/**
 * Deletes a stored override.
 *
 * @param obsId deletes only the override that this observation requested; one set since then stays
 * @returns whether this call deleted it; of several processes only one gets true
 */
export async function removeOverlay(
  database: Database,
  { layer, key, obsId }: { readonly layer: GateLayer; readonly key: GateOverrideKey; readonly obsId?: string | null },
  options: TransactionOption,
): Promise<boolean> {
  const { changes } =
    obsId === undefined
      ? await database.statement(
          'delete from {gate.overlays} where layer = ? and override_key = ?',
          [layer, key],
          options,
        )
      : await database.statement(
          'delete from {gate.overlays} where layer = ? and override_key = ? and obs_id = ?',
          [layer, key, obsId],
          options,
        );
  return changes > 0;
}
