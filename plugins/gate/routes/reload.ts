import type { Route, SettingsService } from 'mortise/sdk';
import type { RunningGate } from '../start-gate.js';

/** `POST /gate/config/reload`: looks at the file now. */
export function reloadRoute(gate: RunningGate, settings: SettingsService): Route {
  return {
    handle: async () => {
      const before = gate.snapshots.snapshot.revision;
      const { error } = await settings.reload();
      const { revision } = gate.snapshots.snapshot;
      return { body: { changed: revision !== before, revision, error: error ?? gate.configError()?.message ?? null } };
    },
  };
}
