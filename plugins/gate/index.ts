import type { GateConfig, PluginDefinition } from 'mortise/sdk';
import { explainRoute } from './routes/explain.js';
import { poolRoute } from './routes/pools.js';
import { reloadRoute } from './routes/reload.js';
import { statusRoute } from './routes/status.js';
import { type RunningGate, startGate } from './start-gate.js';

/** Decides what is dropped, put aside or delivered, before anything else is done about it. */
export default function gate(): PluginDefinition<GateConfig> {
  let running: RunningGate | undefined;
  return {
    key: 'gate',
    register() {},
    start(host) {
      const started = startGate(host);
      running = started;
      host.provide('gate', started.service);
      host.provide('gate-control', started.control);
      host.contribute('route', 'gate-explain', explainRoute(started));
      host.contribute('route', 'gate-status', statusRoute(started, host.use('settings')));
      host.contribute('route', 'gate-pool', poolRoute(started.pools));
      host.contribute('route', 'gate-reload', reloadRoute(started, host.use('settings')));
    },
    reconfigure(next) {
      running?.adopt(next);
      return 'applied';
    },
    health() {
      const error = running?.configError();
      return error ? { ok: false, detail: `The configuration is not in force: ${error.message}` } : { ok: true };
    },
  };
}
