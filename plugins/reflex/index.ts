import type { PluginDefinition } from 'mortise/sdk';
import { clearCooldownRoute, releaseCommand, releaseRoute } from './api/operator-actions.js';
import { clearOverrideCommand, clearOverrideRoute, setOverrideCommand, setOverridesRoute } from './api/overrides.js';
import { sessionsRoute } from './api/sessions.js';
import type { Config } from './config.generated.js';
import { startReflex } from './start-reflex.js';
import { offerTuningTool } from './suggest-tuning.js';

/** Changes overrides of the gate at run time, with expiry and audit, and cools down failing adapters. */
export default function reflex(): PluginDefinition<Config> {
  return {
    key: 'reflex',
    async start(host) {
      const running = await startReflex(host);
      host.contribute('observation-handler', 'system-reflex', {
        types: ['control'],
        handle: async (observation) => running.guarded(() => running.reflex.handle(observation)),
      });
      host.contribute('observation-handler', 'nociception', {
        types: ['alert', 'schedule'],
        handle: async (observation) => running.guarded(() => running.handlePain(observation)),
      });
      offerTuningTool(host, running);
      host.contribute('route', 'set-overrides', setOverridesRoute(running));
      host.contribute('route', 'clear-override', clearOverrideRoute(running));
      host.contribute('route', 'clear-cooldown', clearCooldownRoute(running));
      host.contribute('route', 'release', releaseRoute(running));
      const facts = (key: string) => host.facts('command', key);
      host.contribute('command', 'gate-override-set', setOverrideCommand(facts('gate-override-set'), running));
      host.contribute('command', 'gate-override-clear', clearOverrideCommand(facts('gate-override-clear'), running));
      host.contribute('command', 'gate-release', releaseCommand(facts('gate-release'), running));
      host.contribute('route', 'gate-sessions', sessionsRoute(running.conversation));
      return { stop: () => running.close() };
    },
  };
}
