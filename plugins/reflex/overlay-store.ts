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

function overlays(database: Database, options?: TransactionOption) {
  return database.query(options)(database.table('gate.overlays'));
}

/** Reads all stored overrides, including expired ones. */
export async function readOverlays(database: Database): Promise<readonly Overlay[]> {
  const leftMs = database.query().raw(`expires_at - ${database.now.millis} as left_ms`);
  const rows: readonly OverlayRow[] = await overlays(database).select('*', leftMs);
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
  const expiresAt =
    leftMs === null ? null : database.query(options).raw(`${database.now.millis} + ?`, [Math.round(leftMs)]);
  await overlays(database, options)
    .insert({ layer, override_key: key, value: JSON.stringify(value), expires_at: expiresAt, reason, obs_id: obsId })
    .onConflict(['layer', 'override_key'])
    .merge();
}

/**
 * Deletes a stored override.
 *
 * @param obsId deletes only the override that this observation requested; one set since then stays
 * @returns whether this call deleted it; of several processes only one gets true
 */
export async function removeOverlay(
  database: Database,
  {
    layer,
    key,
    obsId,
  }: { readonly layer: GateLayer; readonly key: GateOverrideKey; readonly obsId: string | undefined },
  options: TransactionOption,
): Promise<boolean> {
  const changes = await overlays(database, options)
    .where({ layer, override_key: key, ...(obsId !== undefined && { obs_id: obsId }) })
    .delete();
  return changes > 0;
}
