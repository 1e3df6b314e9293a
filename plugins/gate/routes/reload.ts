import type { Route, SettingsService } from 'mortise/sdk';
import type { RunningGate } from '../start-gate.js';

/** `POST /gate/config/reload`. */
export function reloadRoute(gate: RunningGate, settings: SettingsService): Route {
  return { handle: async () => ({ body: await reload(gate, settings) }) };
}

/** Looks at the file now. */
export async function reload(gate: RunningGate, settings: SettingsService) {
  const before = gate.snapshots.snapshot.revision;
  const { error } = await settings.reload();
  const { revision } = gate.snapshots.snapshot;
  return { changed: revision !== before, revision, error: error ?? gate.configError()?.message ?? null };
}
