import { type PluginDefinition, runsAtCaller } from 'mortise/sdk';
import { cancelChannel, followRequests, RunningTurns } from './cancel-turns.js';
import { ensureDefaultChat } from './chats.js';
import type { Config } from './config.generated.js';
import { sessionTables } from './migrations/0001-sessions.js';
import { chatSummaries } from './migrations/0002-chat-summaries.js';
import { chatMessagesRoute } from './routes/chat-messages.js';
import { deleteChatRoute, deleteChatsRoute, listChatsRoute, replaceChatRoute, saveChatRoute } from './routes/chats.js';
import { cancelTurnRoute, listTurnsRoute, readTurnRoute } from './routes/turns.js';
import { sessionsService } from './service.js';
import { openStore } from './store/store.js';
import { sweepSessions } from './sweep.js';

/** How often requests of other processes to end a turn are read, milliseconds. */
const followMs = 500;

/** The one store of sessions, chats, turns and messages. */
export default function sessions(): PluginDefinition<Config> {
  return {
    key: 'sessions',
    register(host) {
      for (const name of ['list', 'create', 'get', 'update', 'delete', 'batch-delete', 'turns']) {
        host.contribute('command', `chats-${name}`, runsAtCaller(host.facts('command', `chats-${name}`)));
      }
    },
    async start(host) {
      const database = host.use('database');
      const instances = host.use('instances');
      await database.migrate([sessionTables, chatSummaries]);
      const store = openStore(database, instances.id, host.log);
      const running = new RunningTurns();
      const service = sessionsService({ store, running, ttlMs: host.config.claimTtlSeconds * 1_000 });
      await ensureDefaultChat(store);

      const alive = async () => new Set((await instances.list()).filter((one) => one.alive).map(({ id }) => id));
      const sweep = () => sweepSessions(store, { alive });
      await sweep();
      host.every(host.config.sweepSeconds * 1_000, sweep);
      host.own(await database.listen(cancelChannel, (turnId) => running.cancel(turnId)));
      if (database.dialect === 'sqlite') host.every(followMs, () => followRequests(store, running));

      host.provide('sessions', service);
      host.contribute('route', 'list-chats', listChatsRoute(store));
      host.contribute('route', 'save-chat', saveChatRoute(service));
      host.contribute('route', 'delete-chats', deleteChatsRoute(service));
      host.contribute('route', 'read-chat', chatMessagesRoute(store, service));
      host.contribute('route', 'replace-chat', replaceChatRoute(service));
      host.contribute('route', 'delete-chat', deleteChatRoute(service));
      host.contribute('route', 'list-turns', listTurnsRoute(store, service));
      host.contribute('route', 'read-turn', readTurnRoute(service));
      host.contribute('route', 'cancel-turn', cancelTurnRoute(service));
    },
  };
}
