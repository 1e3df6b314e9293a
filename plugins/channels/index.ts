import type { PluginDefinition } from 'mortise/sdk';
import { openChannels } from './channel-store.js';
import { getCommand, listCommand, setCommand, typesCommand } from './commands.js';
import { channelTable } from './migrations/0001-channels.js';
import { getRoute, listRoute, replaceRoute, revealRule, setRoute, typesRoute } from './routes.js';

/** The configuration of channels, changed at run time. */
export default function channelsPlugin(): PluginDefinition {
  return {
    key: 'channels',
    async start(host) {
      const database = host.use('database');
      await database.migrate([channelTable]);
      const channels = await openChannels({
        host,
        database,
        secrets: host.use('secrets'),
        schemas: host.use('schemas'),
        audit: host.use('audit'),
      });
      const reveal = revealRule(channels, host.use('http'), (refusal) => host.emit('refusal', refusal));

      host.provide('channels', channels);
      host.contribute('route', 'list-channels', listRoute(channels, reveal));
      host.contribute('route', 'replace-channels', replaceRoute(channels));
      host.contribute('route', 'channel-types', typesRoute(channels));
      host.contribute('route', 'get-channel', getRoute(channels, reveal));
      host.contribute('route', 'set-channel', setRoute(channels));
      host.contribute('command', 'channels-list', listCommand(host.facts('command', 'channels-list'), channels));
      host.contribute('command', 'channels-types', typesCommand(host.facts('command', 'channels-types'), channels));
      host.contribute('command', 'channels-get', getCommand(host.facts('command', 'channels-get'), channels));
      host.contribute('command', 'channels-set', setCommand(host.facts('command', 'channels-set'), channels));
    },
  };
}
