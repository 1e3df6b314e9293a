import type { PluginDefinition } from 'mortise/sdk';
import { Announcements } from './announcements.js';
import type { Config } from './config.generated.js';
import { Connections } from './connections.js';
import { LiveSends } from './live-sends.js';
import type { RealtimeParts } from './method.js';
import { socketEgress } from './socket-egress.js';
import { socketRoute } from './socket-route.js';
import { Watchers } from './watchers.js';

/** Chats over one WebSocket. */
export default function realtime(): PluginDefinition<Config> {
  return {
    key: 'realtime',
    register() {},
    async start(host) {
      const { config, points } = host;
      const database = host.use('database');
      const schedule = host.use('schedule');
      const sessions = host.use('sessions');
      const turns = host.watch('turns');
      const watchers = new Watchers();
      const parts: RealtimeParts = {
        config,
        sessions,
        conversation: host.use('conversation'),
        turns: () => turns.current,
        http: host.use('http'),
        points,
        schemas: host.use('schemas'),
        live: new LiveSends(),
        watchers,
        now: () => schedule.monotonic(),
      };
      const connections = host.own(new Connections(parts));
      host.every(lookEveryMs(config), () => connections.look());
      host.on('shutdown', ({ deadline }) => connections.shutDown(deadline - schedule.now()));
      const announcements = host.own(new Announcements({ database, watchers, sessions, log: host.log }));
      await announcements.listen();
      host.on('input-request', (change) => announcements.announce({ kind: 'question', ...change }));
      host.contribute('egress', 'socket', socketEgress(host.facts('egress', 'socket'), announcements));
      host.contribute('route', 'realtime-socket', socketRoute(connections));
    },
  };
}

/** Often enough for the shortest of the times that are looked at. */
function lookEveryMs({ pingSeconds, slowReaderSeconds }: Config): number {
  const shortest = Math.min(pingSeconds || slowReaderSeconds, slowReaderSeconds);
  return Math.min(1_000, Math.max(50, shortest * 250));
}
