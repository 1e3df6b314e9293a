import {
  type Counter,
  type MetricsService,
  MortiseError,
  type Observation,
  type SessionsService,
  type StartHost,
} from 'mortise/sdk';
import type { AlertLimiter } from '../alerts.js';
import type { Config } from '../config.generated.js';
import type { Cooldowns } from '../cooldowns.js';
import { type EgressAdapter, EgressHub } from './egress-hub.js';
import type { EgressCount } from './egress-queue.js';

/** Adapters of this form are channels. */
const channelPrefix = 'channel:';
/** Milliseconds of one send unless the adapter says otherwise. */
const sendMs = 1_000;
/** Faces that are no way out for a reply that nobody waits for. */
const faces = ['console', 'ws'];

/** The hub over what other plugins contribute: `egress` adapters, and channels under the name `channel:<name>`. */
export function startEgress(
  host: StartHost<Config>,
  sessions: Pick<SessionsService, 'parseKey'>,
  cooldowns: Cooldowns,
  alerts: AlertLimiter,
): EgressHub {
  const { points, config } = host;
  let adapters: readonly EgressAdapter[] | undefined;
  host.own(
    points.onChange('egress', () => {
      adapters = undefined;
    }),
  );
  const metrics = host.use('metrics');
  const undelivered = metrics.counter(
    'mortise_egress_undelivered_total',
    'Replies not sent, or not confirmed, before the end',
    ['adapter'],
  );
  const hub = new EgressHub({
    capacity: config.egressQueue,
    adapters: () => {
      adapters ??= points
        .list('egress')
        .filter(({ active }) => active)
        .map(({ key, facts }) => ({ ...facts, key }));
      return adapters;
    },
    channels: () =>
      points.keys('channel').flatMap((channel) => (faces.includes(channel) ? [] : `${channelPrefix}${channel}`)),
    channelOf: (sessionKey) => {
      const channel = sessions.parseKey(sessionKey)?.channel;
      if (channel === undefined || faces.includes(channel)) return undefined;
      return points.keys('channel').includes(channel) ? `${channelPrefix}${channel}` : undefined;
    },
    coolingDown: (adapter) => cooldowns.left(adapter) > 0,
    send: async (adapter, observation) => {
      if (adapter.startsWith(channelPrefix)) {
        await sendThroughChannel(host, sessions, adapter.slice(channelPrefix.length), observation);
        return;
      }
      const facts = points.list('egress').find(({ key, active }) => active && key === adapter)?.facts;
      const timeoutMs = facts?.timeoutMs ?? config.egressTimeoutMs ?? sendMs;
      const { correlation_id: correlationId } = observation;
      await points.call('egress', adapter, (value, ctx) => value.send(observation, ctx), { timeoutMs, correlationId });
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
        waiting.length > 0 ? 'replies were not sent before the end' : 'a reply was not confirmed before the end',
      );
    },
  });
  metrics.observe('mortise_egress_depth', 'Replies that wait to be sent', ['adapter'], () =>
    hub.status().map(({ adapter, depth }) => ({ labels: { adapter }, value: depth })),
  );
  return hub;
}

const counters = {
  sent: ['mortise_egress_sent_total', 'Replies sent'],
  failed: ['mortise_egress_failed_total', 'Replies that were not sent because of a fault'],
  timed_out: ['mortise_egress_timed_out_total', 'Replies that were not sent in time'],
  dropped: ['mortise_egress_dropped_total', 'Replies that a full queue refused'],
  suppressed: ['mortise_egress_suppressed_total', 'Replies not sent while the adapter cooled down'],
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
  name: string,
  observation: Observation,
): Promise<void> {
  const session = sessions.parseKey(observation.session_key ?? '');
  const facts = points.list('channel').find(({ key, active }) => active && key === name)?.facts;
  const channelConfig = facts?.defaults ?? {};
  const { text } = observation.payload;
  if (!session || !facts || channelConfig.enabled === false) {
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
  });
}
