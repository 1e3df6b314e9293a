import { AsyncLocalStorage } from 'node:async_hooks';
import type { ConversationService } from 'mortise/contracts/conversation';
import type { SessionsService } from 'mortise/contracts/sessions';
import {
  activeByKey,
  boundUser,
  createContributionCache,
  type Observation,
  type ObservationInput,
  type Principal,
  platformPrincipal,
  type StartHost,
} from 'mortise/sdk';
import { AlertLimiter, alertObservation } from './alerts.js';
import type { Config } from './config.generated.js';
import { Conversation } from './conversation.js';
import { Cooldowns } from './cooldowns.js';
import type { EgressHub } from './egress/egress-hub.js';
import { startEgress } from './egress/start-egress.js';
import { handlerTable } from './handler-table.js';
import { textAdapter, timerAdapter } from './ingest/built-in-inputs.js';
import { InputAdapters } from './ingest/input-adapters.js';
import type { ObservationsDeps } from './ingest/observations-route.js';
import { RecentIds } from './ingest/recent-ids.js';
import { exposeMetrics } from './metrics.js';
import { systemSession } from './observation/route-observation.js';
import { SessionStore } from './session-store.js';

/** Time limit of a stop without a deadline, milliseconds. */
const stopMs = 10_000;
/** The share of a stop's time after which each step ends: accepted work, replies of aborted turns, egress. */
const shares = { work: 0.9, replies: 0.94, egress: 0.98 } as const;

interface RunningConversation extends ObservationsDeps {
  readonly service: ConversationService;
  readonly gateIsOn: () => boolean;
  /** Stops input, then handles what was accepted, then sends what is queued for egress. @param until epoch milliseconds */
  close(until?: number): Promise<void>;
}

/** Composes the conversation: bus, workers, input adapters, egress, timers and persistence. */
export async function startConversation(host: StartHost<Config>): Promise<RunningConversation> {
  const { config, points } = host;
  const schedule = host.use('schedule');
  const sessions = host.use('sessions');
  const gate = host.watch('gate');
  const control = host.watch('gate-control');
  const monotonic = () => schedule.monotonic();
  const alerts = new AlertLimiter(monotonic, (alert) => host.emit('alert', alert));
  const cooldowns = new Cooldowns(monotonic);
  const hub = startEgress(host, sessions, cooldowns, alerts);
  // Workers run in the async context of the plugin's start, not in that of a publisher: the publisher may be inside a
  // transaction or another plugin's call.
  const detached = AsyncLocalStorage.snapshot();
  const store = config.persistence === 'sql' ? new SessionStore(host) : undefined;
  const metrics = exposeMetrics(host.use('metrics'), () => conversation);
  const channels = createContributionCache(points, 'channel', activeByKey);
  const conversation = new Conversation({
    points,
    handlers: handlerTable(points),
    gate: () => gate.current,
    loopAllowed: () => control.current?.snapshot().config.loop_guard.allow ?? [],
    hub,
    cooldowns,
    routing: { mode: config.routing, sessions, hasChannel: (name) => channels.current.has(name) },
    limits: config,
    now: () => schedule.now(),
    monotonic,
    schedule: (run, afterOthers) => {
      if (afterOthers) detached(setImmediate, run);
      else detached(queueMicrotask, run);
    },
    raise: (code, session, detail) => {
      host.log.warn({ code, ...detail }, 'an observation was refused or failed');
      const { stack, ...data } = detail;
      alerts.raise(code, session?.key ?? String(data.source_name), data);
    },
    unhandled: ({ queued, begun }) => {
      metrics.unhandled(queued.length + begun.length);
      const idsOf = (some: readonly Observation[]) => some.map(({ obs_id }) => obs_id);
      host.log.warn(
        { obs_ids: idsOf(queued), interrupted_obs_ids: idsOf(begun) },
        'accepted observations were not handled before the stop',
      );
    },
    metrics,
    changed: store && ((session) => store.changed(session)),
  });
  const { intake } = conversation;
  host.on('alert', (alert) => intake.publish(alertObservation(alert), { principal: platformPrincipal }));
  await store?.restore(conversation.live);
  const adapters = new InputAdapters({
    points,
    publish: (observation, adapter) =>
      intake.publish(observation, { adapter, principal: adapterPrincipal(adapter, observation) }),
    emit: (alert) => host.emit('alert', alert),
    coolingDown: (adapter) => cooldowns.left(adapter) > 0,
    monotonic,
  });
  host.own(points.onChange('input-adapter', () => void adapters.follow()));
  host.every(config.idleSweepSeconds * 1_000, () => {
    const removed = conversation.live.collect(config.idleTtlSeconds * 1_000, config.idleMinimum);
    metrics.collected(removed.length);
    for (const key of removed) store?.deleted(key);
  });
  if (config.tickSeconds > 0) {
    const tick = timerAdapter(
      (observation) => intake.publish(observation, { principal: platformPrincipal }),
      () => schedule.now(),
    );
    host.every(config.tickSeconds * 1_000, tick);
  }
  void adapters.follow();
  let closing: Promise<void> | undefined;
  const close = async (until: number): Promise<void> => {
    const from = schedule.now();
    const left = (step: keyof typeof shares): number =>
      Math.max(from + (until - from) * shares[step] - schedule.now(), 0);
    await adapters.close();
    await conversation.close(left('work'), left('replies') - left('work'));
    await hub.close(Math.min(config.egressDrainMs, left('egress')));
    await store?.close();
  };
  return {
    intake,
    cooldowns,
    recent: new RecentIds(monotonic),
    sessions,
    refused: (refusal) => host.emit('refusal', refusal),
    service: serviceOf(conversation, adapters, cooldowns, hub, sessions),
    gateIsOn: () => gate.current !== undefined,
    close(until = schedule.now() + stopMs) {
      closing ??= close(until);
      return closing;
    },
  };
}

/**
 * For whom an event of an input adapter is handled: the user that its observation names, whom the adapter has identified;
 * without one the adapter itself, which may use no space.
 */
function adapterPrincipal(adapter: string, { actor }: Partial<ObservationInput>): Principal {
  const user = actor?.actor_type === 'user' && typeof actor.actor_id === 'string' ? actor.actor_id : undefined;
  return {
    id: `adapter:${adapter}`,
    admin: false,
    loopback: false,
    authenticated: false,
    ...(user === undefined ? { spaces: [] } : { actor: user }),
  };
}

function serviceOf(
  conversation: Conversation,
  adapters: InputAdapters,
  cooldowns: Cooldowns,
  hub: EgressHub,
  { parseKey }: Pick<SessionsService, 'parseKey'>,
): ConversationService {
  const { intake, live } = conversation;
  const ownsSession = (principal: Principal, sessionKey: string): boolean => {
    const user = boundUser(principal);
    return user !== undefined && parseKey(sessionKey)?.userId === user;
  };
  return {
    publish: (observation, options) => intake.publish(observation, options),
    publishOrWait: (observation, options) => intake.publishOrWait(observation, options),
    preview: (observation) => intake.preview(observation),
    ingestText: textAdapter((observation, principal) => intake.publish(observation, { principal })),
    trigger: (adapter, request, options) => adapters.trigger(adapter, request, options),
    submit: (observation, options) => intake.submit(observation, options),
    busy: (sessionKey) => live.busy(sessionKey),
    session: (sessionKey) => live.state(sessionKey),
    sessions: () => live.summaries(),
    ownsSession,
    maySee: (principal, sessionKey) =>
      principal.admin ||
      ownsSession(principal, sessionKey) ||
      (sessionKey !== systemSession && live.get(sessionKey)?.publishers.has(principal.id) === true),
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
