import type { PluginDefinition } from 'mortise/sdk';
import { echo } from './echo.js';

/** A provider that works without a key: it repeats the user messages. */
export default function providerDemo(): PluginDefinition {
  return {
    key: 'provider-demo',
    register(host) {
      host.contribute('provider', 'demo', {
        ...host.facts('provider', 'demo'),
        async *generate(request) {
          yield { type: 'content_delta', text: echo(request) };
          yield { type: 'done', stopReason: 'end_turn' };
        },
        ignoredOptions: () => ['maxOutputTokens', 'temperature', 'topP', 'stop'],
      });
    },
  };
}
