import type { GateConfig } from 'mortise/contracts/gate';
import type { PluginDefinition } from 'mortise/sdk';
import { explainCommand, explainRoute } from './api/explain.js';
import { poolRoute, poolsCommand } from './api/pools.js';
import { reloadCommand, reloadRoute, statusCommand, statusRoute } from './api/status.js';
import { type RunningGate, startGate } from './start-gate.js';

/** Decides whether an observation is dropped, sunk or delivered, before any handler sees it. */
export default function gate(): PluginDefinition<GateConfig> {
  let running: RunningGate | undefined;
  return {
    key: 'gate',
    register() {},
    async start(host) {
      const started = await startGate(host);
      running = started;
      host.provide('gate', started.service);
      host.provide('gate-control', started.control);
      host.contribute('route', 'gate-explain', explainRoute(started));
      host.contribute('route', 'gate-status', statusRoute(started));
      host.contribute('route', 'gate-pool', poolRoute(started.pools));
      host.contribute('route', 'gate-reload', reloadRoute(started));
      const facts = (key: string) => host.facts('command', key);
      host.contribute('command', 'gate-status', statusCommand(facts('gate-status'), started));
      host.contribute('command', 'gate-pools', poolsCommand(facts('gate-pools'), started.pools));
      host.contribute('command', 'gate-explain', explainCommand(facts('gate-explain'), started));
      host.contribute('command', 'gate-reload', reloadCommand(facts('gate-reload'), started));
    },
    reconfigure(next) {
      if (next.persistence !== running?.snapshots.snapshot.config.persistence) return 'restart';
      running.adopt(next);
      return 'applied';
    },
    stop: () => running?.close(),
    health() {
      const error = running?.configError();
      return error ? { ok: false, detail: `The configuration file is not applied: ${error.message}` } : { ok: true };
    },
  };
}
