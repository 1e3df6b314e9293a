import type { PluginDefinition } from 'mortise/sdk';
import { clearOverrideCommand, setOverrideCommand } from './commands/override-commands.js';
import { releaseCommand } from './commands/release-command.js';
import type { Config } from './config.generated.js';
import { clearCooldownRoute } from './routes/cooldowns.js';
import { clearOverrideRoute, setOverridesRoute } from './routes/overrides.js';
import { releaseRoute } from './routes/release.js';
import { sessionsRoute } from './routes/sessions.js';
import { type RunningReflex, startReflex } from './start-reflex.js';
import { offerTuningTool } from './suggest-tuning.js';

/** Changes the gate while it runs, for a time and with an audit, and stops what hurts. */
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
        handle: async (observation) => started.guarded(() => started.feel(observation)),
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
