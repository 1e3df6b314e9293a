import type { PluginDefinition } from 'mortise/sdk';
import { clearCooldownRoute, releaseCommand, releaseRoute } from './api/operator-actions.js';
import { clearOverrideCommand, clearOverrideRoute, setOverrideCommand, setOverridesRoute } from './api/overrides.js';
import { sessionsRoute } from './api/sessions.js';
import type { Config } from './config.generated.js';
import { type RunningReflex, startReflex } from './start-reflex.js';
import { offerTuningTool } from './suggest-tuning.js';

/** Changes overrides of the gate at run time, with expiry and audit, and cools down failing adapters. */
export default function reflex(): PluginDefinition<Config> {
  let running: RunningReflex | undefined;
  return {
    key: 'reflex',
    register() {},
    async start(host) {
      const started = await startReflex(host);
      running = started;
      host.contribute('observation-handler', 'system-reflex', {
        types: ['control'],
        handle: async (observation) => started.guarded(() => started.reflex.handle(observation)),
      });
      host.contribute('observation-handler', 'nociception', {
        types: ['alert', 'schedule'],
        handle: async (observation) => started.guarded(() => started.handlePain(observation)),
      });
      offerTuningTool(host, started);
      host.contribute('route', 'set-overrides', setOverridesRoute(started));
      host.contribute('route', 'clear-override', clearOverrideRoute(started));
      host.contribute('route', 'clear-cooldown', clearCooldownRoute(started));
      host.contribute('route', 'release', releaseRoute(started));
      const facts = (key: string) => host.facts('command', key);
      host.contribute('command', 'gate-override-set', setOverrideCommand(facts('gate-override-set'), started));
      host.contribute('command', 'gate-override-clear', clearOverrideCommand(facts('gate-override-clear'), started));
      host.contribute('command', 'gate-release', releaseCommand(facts('gate-release'), started));
      host.contribute('route', 'gate-sessions', sessionsRoute(started.conversation));
    },
    stop: () => running?.close(),
  };
}
