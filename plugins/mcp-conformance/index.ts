import type { PluginDefinition, StartHost } from 'mortise/sdk';
import { changingTools } from './changing-tools.js';
import { clientTools } from './client-tools.js';
import { contentTools, schemaTools } from './content-tools.js';
import { inputRoundTools } from './input-round-tools.js';
import { completions, prompts } from './prompts.js';
import { resources } from './resources.js';
import { taskTools } from './task-tools.js';

/** The tools, resources, prompts and completions that the official MCP conformance suite requires of a server. */
export default function mcpConformance(): PluginDefinition {
  let started: StartHost | undefined;
  const host = () => {
    if (!started) throw new Error('The plugin has not started.');
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
