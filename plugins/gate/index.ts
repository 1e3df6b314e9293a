import type { PluginDefinition } from 'mortise/sdk';
import { explainCommand } from './commands/explain-command.js';
import { poolsCommand } from './commands/pools-command.js';
import { reloadCommand } from './commands/reload-command.js';
import { statusCommand } from './commands/status-command.js';
import type { Config } from './config.generated.js';
import { explainRoute } from './routes/explain.js';
import { poolRoute } from './routes/pools.js';
import { reloadRoute } from './routes/reload.js';
import { statusRoute } from './routes/status.js';
import { type RunningGate, startGate } from './start-gate.js';

/** Decides what is dropped, put aside or delivered, before anything else is done about it. */
export default function gate(): PluginDefinition<Config> {
  let running: RunningGate | undefined;
  return {
    key: 'gate',
    register() {},
    async start(host) {
      const started = await startGate(host);
      running = started;
      host.provide('gate', started.service);
      host.provide('gate-control', started.control);
      const settings = host.use('settings');
      host.contribute('route', 'gate-explain', explainRoute(started));
      host.contribute('route', 'gate-status', statusRoute(started, settings));
      host.contribute('route', 'gate-pool', poolRoute(started.pools));
      host.contribute('route', 'gate-reload', reloadRoute(started, settings));
      const facts = (key: string) => host.facts('command', key);
      host.contribute('command', 'gate-status', statusCommand(facts('gate-status'), started, settings));
      host.contribute('command', 'gate-pools', poolsCommand(facts('gate-pools'), started.pools));
      host.contribute('command', 'gate-explain', explainCommand(facts('gate-explain'), started));
      host.contribute('command', 'gate-reload', reloadCommand(facts('gate-reload'), started, settings));
    },
    reconfigure(next) {
      if (next.persistence !== running?.snapshots.snapshot.config.persistence) return 'restart';
      running.adopt(next);
      return 'applied';
    },
    stop: () => running?.close(),
    health() {
      const error = running?.configError();
      return error ? { ok: false, detail: `The configuration is not in force: ${error.message}` } : { ok: true };
    },
  };
}
