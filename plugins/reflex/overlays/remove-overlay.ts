import type { GateLayer, GateOverrideKey } from 'mortise/contracts/gate';
import type { Database, TransactionOption } from 'mortise/sdk';

/**
 * Takes an override off the store.
 *
 * @param obsId only the override that this observation has asked for: one that was set since then stays
 * @returns whether it was there, which only one of several processes is told
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
