import { configOfChannel, isChannelEnabled } from 'mortise/contracts/channels';
import { type PluginDefinition, whenServing } from 'mortise/sdk';
import { AccessTokens } from './access-tokens.js';
import type { Config } from './config.generated.js';
import { qqError } from './errors.js';
import { GatewaySupervisor, stateRoute } from './gateway/supervisor.js';
import { EventStore } from './inbound/event-store.js';
import { inboundRoute } from './inbound/inbound-route.js';
import { Inbox } from './inbound/inbox.js';
import { receiveEvent } from './inbound/receive-event.js';
import { MessageSequence } from './message-sequence.js';
import { qqTables } from './migrations/0001-qq.js';
import { sendText } from './send-text.js';

const superviseEveryMs = 5_000;
const recoverEveryMs = 15_000;
const pruneEveryMs = 3_600_000;
/** How long a repeated event is recognised. */
const eventRetentionMs = 24 * 3_600_000;
/** Longer than QQ accepts an answer to a message. */
const counterRetentionMs = 30 * 24 * 3_600_000;

/** The channel of QQ users, in both directions. */
export default function channelQq(): PluginDefinition<Config> {
  return {
    key: 'channel-qq',
    async start(host) {
      const database = host.use('database');
      await database.migrate([qqTables]);
      const fetch = host.use('fetch');
      const http = host.use('http');
      const schedule = host.use('schedule');
      const channels = host.watch('channels');
      const facts = host.facts('channel', 'qq');
      const config = () => configOfChannel({ key: 'qq', facts }, channels.current);
      const now = () => schedule.now();

      const tokens = new AccessTokens({ fetch, now, signal: host.signal });
      const sequence = new MessageSequence(database);
      const sending = { fetch, tokens, sequence };
      const store = new EventStore({ database, instances: host.use('instances') });
      const inbox = new Inbox({
        store,
        turns: host.use('turns'),
        log: host.log,
        signal: host.signal,
        async reply({ userId, sessionId, reply }, text, deliveryId, signal) {
          if (!isChannelEnabled(config())) throw qqError('channel_disabled');
          await sendText(sending, { userId, sessionId, text, deliveryId, config: { ...config(), ...reply } }, signal);
        },
      });
      const supervisor = new GatewaySupervisor({
        fetch,
        tokens,
        config,
        log: host.log,
        leases: host.use('leases'),
        disabled: host.config.disableInboundSupervisor,
        reconnectBaseMs: host.config.reconnectBaseSeconds * 1_000,
        receive: (name, envelope) => receiveEvent(inbox, name, envelope, host.log),
      });

      host.contribute('channel', 'qq', {
        ...facts,
        sendText: (message, { signal }) => sendText(sending, message, signal),
      });
      host.contribute(
        'route',
        'qq-inbound',
        inboundRoute({ inbox, http, config, now, refused: (refusal) => host.emit('refusal', refusal) }),
      );
      host.contribute('route', 'qq-state', stateRoute(supervisor));

      whenServing(host, http, async () => {
        await inbox.recover();
        await supervisor.check();
        host.every(superviseEveryMs, () => supervisor.check());
        host.every(recoverEveryMs, () => inbox.recover());
        host.every(pruneEveryMs, async () => {
          await store.forget(new Date(now() - eventRetentionMs));
          await sequence.forget(new Date(now() - counterRetentionMs));
        });
        const changes = channels.current?.onChange(() => void supervisor.check());
        if (changes) host.own(changes);
      });
      return {
        async drain() {
          await supervisor.stop();
          await inbox.drain();
        },
        async stop() {
          await supervisor.stop();
          await inbox.stop();
        },
      };
    },
  };
}
