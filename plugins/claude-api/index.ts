import { ExchangeRecorder, passableAdapters } from 'mortise/contracts/models';
import type { PluginDefinition } from 'mortise/sdk';
import { countTokensRoute } from './count-tokens.js';
import { messagesRoute } from './messages.js';

/** The Claude-compatible API: any model for clients that speak Anthropic's Messages API. */
export default function claudeApi(): PluginDefinition {
  return {
    key: 'claude-api',
    start(host) {
      const models = host.use('models');
      const fetch = host.use('fetch');
      const gate = host.watch('gate-control');
      const recorder = new ExchangeRecorder(host.watch('sessions'), host.log);
      const { points } = host;
      const passable = passableAdapters(points);
      host.contribute('route', 'messages', messagesRoute({ points, models, gate, passable, recorder, fetch }));
      host.contribute('route', 'count-tokens', countTokensRoute({ points, models, gate, passable }));
      return { drain: () => recorder.idle(), stop: () => recorder.idle() };
    },
  };
}
