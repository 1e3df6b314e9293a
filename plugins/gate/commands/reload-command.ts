import type { Command, CommandFacts, SettingsService } from 'mortise/sdk';
import { reload } from '../routes/reload.js';
import type { RunningGate } from '../start-gate.js';

/** `mortise gate reload`: exit 1 while the file is not in force. */
export function reloadCommand(facts: CommandFacts, running: RunningGate, settings: SettingsService): Command {
  return {
    ...facts,
    run: async () => {
      const reloaded = await reload(running, settings);
      const { changed, revision, error } = reloaded;
      const text =
        error ?? (changed ? `In force: revision ${revision}.` : `Nothing has changed: revision ${revision}.`);
      return { exitCode: error === null ? 0 : 1, data: reloaded, text };
    },
  };
}
