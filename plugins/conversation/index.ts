import type { PluginDefinition } from 'mortise/sdk';
import { observeCommand } from './commands/observe-command.js';
import type { Config } from './config.generated.js';
import { consoleEgress } from './egress/console-egress.js';
import { observationsRoute } from './ingest/observations-route.js';
import { type RunningConversation, startConversation } from './start-conversation.js';

/** One path in for every event: a bus, a router, one worker per session, and the ways out. */
export default function conversation(): PluginDefinition<Config> {
  let running: RunningConversation | undefined;
  return {
    key: 'conversation',
    register(host) {
      host.contribute('egress', 'console', consoleEgress);
    },
    async start(host) {
      const started = await startConversation(host);
      running = started;
      host.provide('conversation', started.service);
      host.contribute('route', 'observations', observationsRoute(started));
      host.contribute('command', 'observe', observeCommand(host.facts('command', 'observe'), started));
    },
    drain: (until) => running?.close(until),
    stop: () => running?.close(),
    health: () =>
      running?.gateIsOn()
        ? { ok: true }
        : { ok: true, detail: 'The gate is off: every message is delivered (gate_off).' },
  };
}
