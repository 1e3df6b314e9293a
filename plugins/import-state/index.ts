import type { PluginDefinition } from 'mortise/sdk';
import { importStateCommand } from './command.js';

/** Takes over what an earlier gateway has stored. */
export default function importState(): PluginDefinition {
  return {
    key: 'import-state',
    start(host) {
      const deps = {
        sessions: host.use('sessions'),
        workspace: host.use('workspace'),
        channels: host.use('channels'),
        cron: host.use('cron'),
      };
      host.contribute('command', 'import-state', importStateCommand(host.facts('command', 'import-state'), deps));
    },
  };
}
