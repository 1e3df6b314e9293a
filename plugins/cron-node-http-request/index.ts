import type { PluginDefinition } from 'mortise/sdk';
import { httpRequestNode } from './http-request.js';

/** A workflow step that sends an HTTP request. */
export default function cronNodeHttpRequest(): PluginDefinition {
  return {
    key: 'cron-node-http-request',
    start(host) {
      const facts = host.facts('cron-node', 'http_request');
      host.contribute('cron-node', 'http_request', httpRequestNode(facts, host.use('fetch')));
    },
  };
}
