import { modelApiDeps, modelApiRoute } from 'mortise/contracts/models';
import type { PluginDefinition } from 'mortise/sdk';
import { chatApi } from './chat/chat-api.js';
import { modelRoute, modelsRoute } from './models-routes.js';
import { responsesApi } from './responses/responses-api.js';

/** The OpenAI-compatible API: any model for clients that speak chat completions or responses. */
export default function openaiApi(): PluginDefinition {
  return {
    key: 'openai-api',
    start(host) {
      const deps = modelApiDeps(host);
      host.contribute('route', 'chat-completions', modelApiRoute(deps, chatApi));
      host.contribute('route', 'responses', modelApiRoute(deps, responsesApi));
      host.contribute('route', 'list-models', modelsRoute(deps.models));
      host.contribute('route', 'read-model', modelRoute(deps.models));
      const { recorder } = deps;
      return { drain: () => recorder.idle(), stop: () => recorder.idle() };
    },
  };
}
