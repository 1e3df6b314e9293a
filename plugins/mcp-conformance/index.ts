import type { PluginDefinition, StartHost } from 'mortise/sdk';
import { changingTools } from './changing-tools.js';
import { clientTools } from './client-tools.js';
import { completions } from './completions.js';
import { contentTools } from './content-tools.js';
import { inputRoundTools } from './input-round-tools.js';
import { prompts } from './prompts.js';
import { resources } from './resources.js';
import { schemaTools } from './schema-tools.js';
import { taskTools } from './task-tools.js';

/** What the official MCP conformance suite asks a server for. */
export default function mcpConformance(): PluginDefinition {
  let started: StartHost | undefined;
  const host = () => {
    if (!started) throw new Error('Tools are called after the plugin has started.');
    return started;
  };
  return {
    key: 'mcp-conformance',
    register(registering) {
      for (const tools of [contentTools, schemaTools, clientTools, inputRoundTools, taskTools, changingTools(host)]) {
        for (const [key, value] of Object.entries(tools)) registering.contribute('tool', key, value);
      }
      for (const [key, value] of Object.entries(prompts)) registering.contribute('mcp-prompt', key, value);
      for (const [key, value] of Object.entries(resources)) registering.contribute('mcp-resource', key, value);
      for (const [key, value] of Object.entries(completions)) registering.contribute('mcp-completion', key, value);
    },
    start(host) {
      started = host;
    },
  };
}
