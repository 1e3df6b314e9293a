import { modelApiDeps, modelApiRoute } from 'mortise/contracts/models';
import type { PluginDefinition } from 'mortise/sdk';
import { countTokensRoute } from './count-tokens.js';
import { messagesApi } from './messages-api.js';

/** The Claude-compatible API: any model for clients that speak Anthropic's Messages API. */
export default function claudeApi(): PluginDefinition {
  return {
    key: 'claude-api',
    start(host) {
      const deps = modelApiDeps(host);
      host.contribute('route', 'messages', modelApiRoute(deps, messagesApi));
      host.contribute('route', 'count-tokens', countTokensRoute(deps));
      const { recorder } = deps;
      return { drain: () => recorder.idle(), stop: () => recorder.idle() };
    },
  };
}
