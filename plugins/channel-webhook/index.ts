import type { PluginDefinition } from 'mortise/sdk';
import { checkWebhook, sendWebhook } from './send-webhook.js';

/** The channel that delivers replies to an HTTP endpoint of the user. */
export default function channelWebhook(): PluginDefinition {
  return {
    key: 'channel-webhook',
    start(host) {
      const fetch = host.use('fetch');
      host.contribute('channel', 'webhook', {
        ...host.facts('channel', 'webhook'),
        sendText: (message, { signal }) => sendWebhook(fetch, message, signal),
        checkConfig: (config) => checkWebhook(fetch, config),
      });
    },
  };
}
