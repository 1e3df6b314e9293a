import { AsyncLocalStorage } from 'node:async_hooks';
import type { ConversationService, Observation, StartHost } from 'mortise/sdk';
import { AlertLimiter, alertObservation } from './alerts.js';
import type { Config } from './config.generated.js';
import { Conversation } from './conversation.js';
import { Cooldowns } from './cooldowns.js';
import type { EgressHub } from './egress/egress-hub.js';
import { startEgress } from './egress/start-egress.js';
import { HandlerTable } from './handler-table.js';
import { AdapterAlerts } from './ingest/adapter-alerts.js';
import { InputAdapters } from './ingest/input-adapters.js';
import type { ObservationsPorts } from './ingest/observations-route.js';
import { RecentIds } from './ingest/recent-ids.js';
import { timerAdapter } from './ingest/timer-adapter.js';
import { exposeMetrics } from './metrics.js';
import { sessionStoreOf } from './store/keep-sessions.js';

/** How long a stop without a deadline may take, milliseconds. */
const stopMs = 10_000;
/** How far into it work may go, what running turns say when they are told to end, and what goes out. */
const latest = { work: 0.9, lastWords: 0.94, egress: 0.98 } as const;

export interface RunningConversation extends ObservationsPorts {
  readonly service: ConversationService;
  readonly gateIsOn: () => boolean;
  /** Ends what comes in, then what was accepted, then what goes out. @param until epoch milliseconds */
  close(until?: number): Promise<void>;
}

/** Puts the parts of the conversation together. */
export async function startConversation(host: StartHost<Config>): Promise<RunningConversation> {
  const { config, points } = host;
  const schedule = host.use('schedule');
  const sessions = host.use('sessions');
  const gate = host.watch('gate');
  const control = host.watch('gate-control');
  const handlers = host.own(new HandlerTable(points));
  const monotonic = () => schedule.monotonic();
  const alerts = new AlertLimiter(monotonic, (alert) => host.emit('alert', alert));
  const cooldowns = new Cooldowns(monotonic);
  const hub = startEgress(host, sessions, cooldowns, alerts);
  // Workers run in the context of the plugin's start, not in that of whoever published: a publisher may be inside of a
  // transaction, or of another plugin's call.
  const detached = AsyncLocalStorage.snapshot();
  const store = config.persistence === 'sql' ? sessionStoreOf(host) : undefined;
  const metrics = exposeMetrics(host.use('metrics'), () => conversation);
  const conversation = new Conversation({
    points,
    handlers: (type) => handlers.of(type),
    gate: () => gate.current,
    loopAllowed: () => control.current?.snapshot().config.loop_guard.allow ?? [],
    hub,
    cooldowns,
    routing: { mode: config.routing, sessions, hasChannel: channelTable(host) },
    limits: config,
    now: () => schedule.now(),
    monotonic,
    schedule: (run, afterOthers) => {
      if (afterOthers) detached(setImmediate, run);
      else detached(queueMicrotask, run);
    },
    raise: (code, session, detail) => {
      host.log.warn({ code, ...detail }, 'an observation was not handled as it should be');
      const { stack, ...data } = detail;
      alerts.raise(code, session?.key ?? String(data.source_name), data);
    },
    unhandled: ({ queued, begun }) => {
      metrics.unhandled(queued.length + begun.length);
      const idsOf = (some: readonly Observation[]) => some.map(({ obs_id }) => obs_id);
      host.log.warn(
        { obs_ids: idsOf(queued), interrupted_obs_ids: idsOf(begun) },
        'observations were accepted and not handled before the end',
      );
    },
    metrics,
    changed: store?.changed,
  });
  host.on('alert', (alert) => conversation.publish(alertObservation(alert)));
  await store?.restore(conversation.live);
  const adapters = new InputAdapters({
    points,
    publish: (observation, adapter) => conversation.publish(observation, { adapter }),
    alerts: new AdapterAlerts((alert) => host.emit('alert', alert), monotonic),
    coolingDown: (adapter) => cooldowns.left(adapter) > 0,
    monotonic,
  });
  host.own(points.onChange('input-adapter', () => void adapters.follow()));
  host.every(config.idleSweepSeconds * 1_000, () => {
    const forgotten = conversation.live.collect(config.idleTtlSeconds * 1_000, config.idleMinimum);
    metrics.collected(forgotten.length);
    for (const key of forgotten) store?.forgotten(key);
  });
  if (config.tickSeconds > 0) {
    const tick = timerAdapter(
      (observation) => conversation.publish(observation),
      () => schedule.now(),
    );
    host.every(config.tickSeconds * 1_000, tick);
  }
  void adapters.follow();
  let closing: Promise<void> | undefined;
  const close = async (until: number): Promise<void> => {
    const from = schedule.now();
    const left = (step: keyof typeof latest): number =>
      Math.max(from + (until - from) * latest[step] - schedule.now(), 0);
    await adapters.close();
    await conversation.close(left('work'), left('lastWords') - left('work'));
    await hub.close(Math.min(config.egressDrainMs, left('egress')));
    await store?.close();
  };
  return {
    conversation,
    cooldowns,
    recent: new RecentIds(monotonic),
    service: face({ conversation, adapters, cooldowns, hub }),
    gateIsOn: () => gate.current !== undefined,
    close(until = schedule.now() + stopMs) {
      closing ??= close(until);
      return closing;
    },
  };
}

/** Whether a channel is there; looked up anew only when channels have come or gone. */
function channelTable({ points }: StartHost<Config>): (name: string) => boolean {
  let names: ReadonlySet<string> | undefined;
  points.onChange('channel', () => {
    names = undefined;
  });
  return (name) => {
    names ??= new Set(points.keys('channel'));
    return names.has(name);
  };
}

interface Served {
  readonly conversation: Conversation;
  readonly adapters: InputAdapters;
  readonly cooldowns: Cooldowns;
  readonly hub: EgressHub;
}

/** What other plugins see: the service, and nothing of what runs it. */
function face({ conversation, adapters, cooldowns, hub }: Served): ConversationService {
  return {
    publish: (observation, options) => conversation.publish(observation, options),
    publishOrWait: (observation, options) => conversation.publishOrWait(observation, options),
    preview: (observation) => conversation.preview(observation),
    ingestText: (text, options) => conversation.ingestText(text, options),
    trigger: (adapter, request, options) => adapters.trigger(adapter, request, options),
    submit: (observation, options) => conversation.submit(observation, options),
    busy: (sessionKey) => conversation.busy(sessionKey),
    session: (sessionKey) => conversation.session(sessionKey),
    sessions: () => conversation.sessions(),
    stats: () => conversation.stats(),
    fanOut: (text) => conversation.fanOut(text),
    coolDown: (cooldown) => cooldowns.start(cooldown),
    endCooldown: (adapter) => cooldowns.end(adapter),
    cooldowns: () => cooldowns.list(),
    bindSession: (sessionKey, adapter) => hub.bind(sessionKey, adapter),
    unbindSession: (sessionKey, adapter) => hub.unbind(sessionKey, adapter),
    egress: () => hub.status(),
  };
}
