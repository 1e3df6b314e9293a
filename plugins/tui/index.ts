import { type PluginDefinition, runsAtCaller } from 'mortise/sdk';

/** The terminal UI. Its code runs in the process of the command line: `open-terminal.ts`. */
export default function tuiPlugin(): PluginDefinition {
  return {
    key: 'tui',
    register(host) {
      host.contribute('command', 'tui', runsAtCaller(host.facts('command', 'tui')));
    },
  };
}
