import type { Disposable, StartHost } from 'mortise/sdk';
import { watchedUri } from './resources.js';
import { type Tools, text, tool } from './tool.js';

/** Adds a contribution on the first call, removes it on the second, and so on. */
function toggled(add: () => Disposable) {
  let added: Disposable | undefined;
  return async () => {
    const previous = added;
    added = previous ? undefined : add();
    await previous?.dispose();
    return text(previous ? 'Removed.' : 'Added.');
  };
}

/** Tools that change the lists of tools and prompts, and a resource, so that clients are notified. */
export function changingTools(host: () => StartHost): Tools {
  return {
    test_trigger_tool_change: tool(
      'Adds or removes a tool.',
      toggled(() =>
        host().contribute(
          'tool',
          'dynamic_tool',
          tool('Added and removed at run time.', () => text('Present.')),
        ),
      ),
    ),
    test_trigger_prompt_change: tool(
      'Adds or removes a prompt.',
      toggled(() =>
        host().contribute('mcp-prompt', 'dynamic_prompt', {
          description: 'Added and removed at run time.',
          get: async () => ({ messages: [] }),
        }),
      ),
    ),
    test_trigger_resource_update: tool('Announces a change of the watched resource.', () => {
      host().emit('mcp-resource-updated', { uri: watchedUri });
      return text('Subscribers were notified.');
    }),
  };
}
