import type { PluginDefinition } from 'mortise/sdk';
import { Announcements } from './announcements.js';
import type { Config } from './config.generated.js';
import { Connections, socketRoute } from './connections.js';
import { LiveSends } from './live-sends.js';
import type { RealtimeDeps } from './method.js';
import { pluginMethods } from './methods/find-method.js';
import { socketEgress, Watchers } from './pushes.js';

/** Chats over one WebSocket. */
export default function realtime(): PluginDefinition<Config> {
  return {
    key: 'realtime',
    async start(host) {
      const { config, points } = host;
      const database = host.use('database');
      const schedule = host.use('schedule');
      const sessions = host.use('sessions');
      const turns = host.watch('turns');
      const watchers = new Watchers();
      const deps: RealtimeDeps = {
        config,
        sessions,
        conversation: host.use('conversation'),
        turns: () => turns.current,
        http: host.use('http'),
        points,
        pluginMethods: pluginMethods(points, host.use('schemas')),
        live: new LiveSends(),
        watchers,
        now: () => schedule.monotonic(),
      };
      const connections = host.own(new Connections(deps));
      host.every(checkEveryMs(config), () => connections.check());
      host.on('shutdown', ({ deadline }) => connections.shutDown(deadline - schedule.now()));
      const announcements = host.own(new Announcements({ database, watchers, sessions, log: host.log }));
      await announcements.listen();
      host.on('input-request', (change) => announcements.announce({ kind: 'question', ...change }));
      host.contribute(
        'egress',
        'socket',
        socketEgress(host.facts('egress', 'socket'), (push) => announcements.announce(push)),
      );
      host.contribute('route', 'realtime-socket', socketRoute(connections));
    },
  };
}

/** Four times within the shortest of the checked times, but at least every second. */
function checkEveryMs({ pingSeconds, slowReaderSeconds }: Config): number {
  const shortest = Math.min(pingSeconds || slowReaderSeconds, slowReaderSeconds);
  return Math.min(1_000, Math.max(50, shortest * 250));
}
