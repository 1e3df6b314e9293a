import type { PluginDefinition } from 'mortise/sdk';
import type { ToolParts } from './parts.js';
import { runTool } from './run-tool.js';
import { tools } from './tools.js';

/** Tools over the logbook, the artifact store and stored patches. */
export default function logbookTools(): PluginDefinition {
  return {
    key: 'logbook-tools',
    register() {},
    start(host) {
      const parts: ToolParts = {
        database: host.use('database'),
        logbook: host.use('logbook'),
        audit: host.use('audit'),
        artifacts: host.use('artifacts'),
      };
      for (const [name, code] of Object.entries(tools)) {
        const facts = host.facts('tool', name);
        host.contribute('tool', name, { ...facts, run: (args, ctx) => runTool({ name, args, ctx, parts }, code) });
      }
    },
  };
}
