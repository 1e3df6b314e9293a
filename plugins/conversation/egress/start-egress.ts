import { type ChannelsService, configOfChannel, isChannelEnabled } from 'mortise/contracts/channels';
import type { Egress } from 'mortise/contracts/conversation';
import type { SessionsService } from 'mortise/contracts/sessions';
import {
  activeByKey,
  type Counter,
  createContributionCache,
  type MetricsService,
  MortiseError,
  type Observation,
  platformPrincipal,
  type StartHost,
} from 'mortise/sdk';
import type { AlertLimiter } from '../alerts.js';
import type { Config } from '../config.generated.js';
import type { Cooldowns } from '../cooldowns.js';
import { EgressHub } from './egress-hub.js';
import type { EgressCount } from './egress-queue.js';

/** Adapter names with this prefix are channels. */
const channelPrefix = 'channel:';
/** Channels that cannot send a reply without a waiting caller. */
const noReplyChannels = ['console', 'ws'];

/** The built-in adapter `console`: a log line for replies without another receiver, without their text. */
export const consoleEgress: Egress = {
  default: true,
  async send(observation, ctx) {
    const { text } = observation.payload;
    ctx.log.info(
      {
        session_key: observation.session_key,
        obs_id: observation.obs_id,
        trace_id: observation.trace_id,
        length: typeof text === 'string' ? text.length : 0,
      },
      'a reply without a receiver',
    );
  },
};

/** Creates the hub over contributed `egress` adapters and over channels, which are adapters named `channel:<name>`. */
export function startEgress(
  host: StartHost<Config>,
  sessions: Pick<SessionsService, 'parseKey'>,
  cooldowns: Cooldowns,
  alerts: AlertLimiter,
): EgressHub {
  const { points, config } = host;
  const configs = host.watch('channels');
  const active = createContributionCache(points, 'egress', (contributions) => {
    const byKey = activeByKey(contributions);
    return { byKey, adapters: [...byKey.values()].map(({ key, facts }) => ({ ...facts, key })) };
  });
  const metrics = host.use('metrics');
  const undelivered = metrics.counter(
    'mortise_egress_undelivered_total',
    'Replies not sent, or not confirmed, before the stop',
    ['adapter'],
  );
  const hub = new EgressHub({
    capacity: config.egressQueue,
    adapters: () => active.current.adapters,
    channels: () =>
      points
        .keys('channel')
        .flatMap((channel) => (noReplyChannels.includes(channel) ? [] : `${channelPrefix}${channel}`)),
    channelOf: (sessionKey) => {
      const channel = sessions.parseKey(sessionKey)?.channel;
      if (channel === undefined || noReplyChannels.includes(channel)) return undefined;
      return points.keys('channel').includes(channel) ? `${channelPrefix}${channel}` : undefined;
    },
    coolingDown: (adapter) => cooldowns.left(adapter) > 0,
    send: async (adapter, observation) => {
      if (adapter.startsWith(channelPrefix)) {
        await sendThroughChannel(host, sessions, configs.current, adapter.slice(channelPrefix.length), observation);
        return;
      }
      const timeoutMs = active.current.byKey.get(adapter)?.facts.timeoutMs ?? config.egressTimeoutMs;
      const { correlation_id: correlationId } = observation;
      await points.call('egress', adapter, (value, ctx) => value.send(observation, ctx), {
        timeoutMs,
        correlationId,
        principal: platformPrincipal,
      });
    },
    failed: (adapter, { obs_id, trace_id }, error) => {
      const name = error instanceof MortiseError ? error.code : error instanceof Error ? error.name : 'error';
      host.log.warn({ adapter, obs_id, trace_id, error: name }, 'a reply was not sent');
      host.emit('alert', {
        source: `egress:${adapter}`,
        severity: 'medium',
        code: 'pain',
        message: 'A reply was not sent.',
        data: { source_kind: 'egress', source_id: adapter, exception_type: name },
      });
    },
    full: (adapter, { obs_id }) => alerts.raise('egress_queue_full', adapter, { adapter, obs_id }),
    count: egressCounters(metrics),
    undelivered: (adapter, { waiting, handedOver }) => {
      undelivered.add(waiting.length + (handedOver ? 1 : 0), { adapter });
      host.log.warn(
        {
          adapter,
          obs_ids: waiting.map(({ obs_id }) => obs_id),
          ...(handedOver ? { unconfirmed_obs_id: handedOver.obs_id } : {}),
        },
        waiting.length > 0 ? 'replies were not sent before the stop' : 'a reply was not confirmed before the stop',
      );
    },
  });
  metrics.observe('mortise_egress_depth', 'Replies in the queue of an adapter', ['adapter'], () =>
    hub.status().map(({ adapter, depth }) => ({ labels: { adapter }, value: depth })),
  );
  return hub;
}

const counters = {
  sent: ['mortise_egress_sent_total', 'Replies sent'],
  failed: ['mortise_egress_failed_total', 'Replies not sent because of a fault'],
  timed_out: ['mortise_egress_timed_out_total', 'Replies not sent within the time limit'],
  dropped: ['mortise_egress_dropped_total', 'Replies refused by a full queue'],
  suppressed: ['mortise_egress_suppressed_total', 'Replies not sent because the adapter is cooling down'],
} as const;

function egressCounters(metrics: MetricsService): (adapter: string, what: EgressCount) => void {
  const byName = Object.fromEntries(
    Object.entries(counters).map(([what, [name, help]]) => [what, metrics.counter(name, help, ['adapter'])]),
  ) as Record<EgressCount, Counter>;
  const bound = new Map<string, Partial<Record<EgressCount, ReturnType<Counter['bind']>>>>();
  return (adapter, what) => {
    let own = bound.get(adapter);
    if (!own) {
      own = {};
      bound.set(adapter, own);
    }
    own[what] ??= byName[what].bind({ adapter });
    own[what].add();
  };
}

async function sendThroughChannel(
  { points }: StartHost<Config>,
  sessions: Pick<SessionsService, 'parseKey'>,
  configs: ChannelsService | undefined,
  name: string,
  observation: Observation,
): Promise<void> {
  const session = sessions.parseKey(observation.session_key ?? '');
  const channel = points.list('channel').find(({ key, active }) => active && key === name);
  const channelConfig = channel ? configOfChannel(channel, configs) : {};
  const { text } = observation.payload;
  if (!session || !channel || !isChannelEnabled(channelConfig)) {
    throw new MortiseError('channel_not_supported', `The channel "${name}" cannot be used.`, { status: 400 });
  }
  const message = {
    userId: session.userId,
    sessionId: session.sessionId,
    text: typeof text === 'string' ? text : '',
    config: channelConfig,
    deliveryId: observation.obs_id,
  };
  await points.call('channel', name, (channel, ctx) => channel.sendText(message, ctx), {
    correlationId: observation.correlation_id,
    principal: platformPrincipal,
  });
}
