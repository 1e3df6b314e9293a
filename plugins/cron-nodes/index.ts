import type { PluginDefinition } from 'mortise/sdk';
import { delayNode } from './delay.js';
import { ifEventNode } from './if-event.js';
import { textEventNode } from './text-event.js';

/** The steps that every workflow needs. */
export default function cronNodes(): PluginDefinition {
  return {
    key: 'cron-nodes',
    register(host) {
      host.contribute('cron-node', 'text_event', textEventNode(host.facts('cron-node', 'text_event')));
      host.contribute('cron-node', 'delay', delayNode(host.facts('cron-node', 'delay')));
      host.contribute('cron-node', 'if_event', ifEventNode(host.facts('cron-node', 'if_event')));
    },
  };
}
