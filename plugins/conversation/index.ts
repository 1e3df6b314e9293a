import type { PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { consoleEgress } from './egress/start-egress.js';
import { observationsRoute } from './ingest/observations-route.js';
import { observeCommand } from './ingest/observe-command.js';
import { startConversation } from './start-conversation.js';

/** The entry point for every observation: an input bus, a router, one serial worker per session, and egress. */
export default function conversation(): PluginDefinition<Config> {
  return {
    key: 'conversation',
    register(host) {
      host.contribute('egress', 'console', consoleEgress);
    },
    async start(host) {
      const running = await startConversation(host);
      host.provide('conversation', running.service);
      host.contribute('route', 'observations', observationsRoute(running));
      host.contribute('command', 'observe', observeCommand(host.facts('command', 'observe'), running));
      return {
        drain: (until) => running.close(until),
        stop: () => running.close(),
        health: () =>
          running.gateIsOn()
            ? { ok: true }
            : { ok: true, detail: 'The gate is off: every message is delivered (gate_off).' },
      };
    },
  };
}
