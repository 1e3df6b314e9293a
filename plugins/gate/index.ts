import type { GateConfig } from 'mortise/contracts/gate';
import type { PluginDefinition } from 'mortise/sdk';
import { explainCommand, explainRoute } from './api/explain.js';
import { poolRoute, poolsCommand } from './api/pools.js';
import { reloadCommand, reloadRoute, statusCommand, statusRoute } from './api/status.js';
import { startGate } from './start-gate.js';

/** Decides whether an observation is dropped, sunk or delivered, before any handler sees it. */
export default function gate(): PluginDefinition<GateConfig> {
  return {
    key: 'gate',
    async start(host) {
      const running = await startGate(host);
      host.provide('gate', running.service);
      host.provide('gate-control', running.control);
      host.contribute('route', 'gate-explain', explainRoute(running));
      host.contribute('route', 'gate-status', statusRoute(running));
      host.contribute('route', 'gate-pool', poolRoute(running));
      host.contribute('route', 'gate-reload', reloadRoute(running));
      const facts = (key: string) => host.facts('command', key);
      host.contribute('command', 'gate-status', statusCommand(facts('gate-status'), running));
      host.contribute('command', 'gate-pools', poolsCommand(facts('gate-pools'), running));
      host.contribute('command', 'gate-explain', explainCommand(facts('gate-explain'), running));
      host.contribute('command', 'gate-reload', reloadCommand(facts('gate-reload'), running));
      return {
        reconfigure: (next) => running.reconfigure(next),
        stop: () => running.close(),
        health() {
          const error = running.configError();
          return error
            ? { ok: false, detail: `The configuration file is not applied: ${error.message}` }
            : { ok: true };
        },
      };
    },
  };
}
