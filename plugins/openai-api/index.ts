import { ExchangeRecorder, passableAdapters } from 'mortise/contracts/models';
import type { PluginDefinition } from 'mortise/sdk';
import { chatApi } from './chat/chat-api.js';
import { modelRoute, modelsRoute } from './models-routes.js';
import { responsesApi } from './responses/responses-api.js';
import { modelApiRoute } from './route.js';

/** The OpenAI-compatible API: any model for clients that speak chat completions or responses. */
export default function openaiApi(): PluginDefinition {
  return {
    key: 'openai-api',
    start(host) {
      const models = host.use('models');
      const recorder = new ExchangeRecorder(host.watch('sessions'), host.log);
      const deps = {
        points: host.points,
        models,
        gate: host.watch('gate-control'),
        recorder,
        fetch: host.use('fetch'),
        schemas: host.use('schemas'),
        passable: passableAdapters(host.points),
      };
      host.contribute('route', 'chat-completions', modelApiRoute(deps, chatApi));
      host.contribute('route', 'responses', modelApiRoute(deps, responsesApi));
      host.contribute('route', 'list-models', modelsRoute(models));
      host.contribute('route', 'read-model', modelRoute(models));
      return { drain: () => recorder.idle(), stop: () => recorder.idle() };
    },
  };
}
