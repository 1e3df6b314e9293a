import type { Disposable, StartHost } from 'mortise/sdk';
import { watchedUri } from './resources.js';
import { type Tools, text, tool } from './tool.js';

/** Adds a contribution at the first call, takes it away at the second, and so on. */
function toggled(add: () => Disposable) {
  let added: Disposable | undefined;
  return async () => {
    const had = added;
    added = had ? undefined : add();
    await had?.dispose();
    return text(had ? 'Removed.' : 'Added.');
  };
}

/** Tools that change what clients can be told of: the lists of tools and prompts, and a resource. */
export function changingTools(host: () => StartHost): Tools {
  return {
    test_trigger_tool_change: tool(
      'Adds or removes a tool.',
      toggled(() =>
        host().contribute(
          'tool',
          'dynamic_tool',
          tool('Comes and goes.', () => text('Still here.')),
        ),
      ),
    ),
    test_trigger_prompt_change: tool(
      'Adds or removes a prompt.',
      toggled(() =>
        host().contribute('mcp-prompt', 'dynamic_prompt', {
          description: 'Comes and goes.',
          get: async () => ({ messages: [] }),
        }),
      ),
    ),
    test_trigger_resource_update: tool('Says that the watched resource has changed.', () => {
      host().emit('mcp-resource-updated', { uri: watchedUri });
      return text('Subscribers were told.');
    }),
  };
}
