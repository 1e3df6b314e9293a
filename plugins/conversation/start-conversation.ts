import { AsyncLocalStorage } from 'node:async_hooks';
import type { ConversationService, StartHost, StopReason } from 'mortise/sdk';
import { AlertLimiter, alertObservation } from './alerts.js';
import type { Config } from './config.js';
import { Conversation } from './conversation.js';
import { Cooldowns } from './cooldowns.js';
import { startEgress } from './egress/start-egress.js';
import { HandlerTable } from './handler-table.js';
import { InputAdapters } from './ingest/input-adapters.js';
import type { ObservationsPorts } from './ingest/observations-route.js';
import { RecentIds } from './ingest/recent-ids.js';
import { timerAdapter } from './ingest/timer-adapter.js';
import { exposeMetrics } from './metrics.js';

/** How long a stop without a deadline may take, milliseconds. */
const stopMs = 10_000;

export interface RunningConversation extends ObservationsPorts {
  readonly service: ConversationService;
  readonly gateIsOn: () => boolean;
  close(reason: StopReason): Promise<void>;
}

/** Puts the parts of the conversation together. */
export function startConversation(host: StartHost<Config>): RunningConversation {
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
  const metrics = exposeMetrics(host.use('metrics'), () => conversation);
  const conversation = new Conversation({
    points,
    handlers: (type) => handlers.of(type),
    gate: () => gate.current,
    loopAllowed: () => control.current?.snapshot().config.loop_guard.allow ?? [],
    hub,
    cooldowns,
    routing: { mode: config.routing, sessions, channels: () => points.keys('channel') },
    limits: config,
    now: () => schedule.now(),
    monotonic,
    schedule: (run) => detached(queueMicrotask, run),
    raise: (code, session, detail) => {
      host.log.warn({ code, ...detail }, 'an observation was not handled as it should be');
      const { stack, ...data } = detail;
      alerts.raise(code, session?.key ?? String(data.source_name), data);
    },
    count: metrics.count,
  });
  const adapters = new InputAdapters({
    points,
    publish: (observation, adapter) => conversation.publish(observation, { adapter }),
    alert: (alert) => host.emit('alert', alert),
    monotonic,
  });
  host.own(points.onChange('input-adapter', () => void adapters.follow()));
  host.every(config.idleSweepSeconds * 1_000, () => {
    conversation.live.collect(config.idleTtlSeconds * 1_000, config.idleMinimum);
  });
  if (config.tickSeconds > 0) {
    const tick = timerAdapter(
      (observation) => conversation.publish(observation),
      () => schedule.now(),
    );
    host.every(config.tickSeconds * 1_000, tick);
  }
  host.on('alert', (alert) => conversation.publish(alertObservation(alert)));
  let deadline: number | undefined;
  host.on('shutdown', (event) => {
    deadline = event.deadline;
  });
  const left = (reason: StopReason): number =>
    Math.max(reason === 'shutdown' && deadline !== undefined ? deadline - Date.now() : stopMs, 0);
  void adapters.follow();
  return {
    conversation,
    cooldowns,
    recent: new RecentIds(monotonic),
    service: face(conversation),
    gateIsOn: () => gate.current !== undefined,
    async close(reason) {
      await adapters.close();
      await conversation.close(left(reason));
      await hub.close(Math.min(config.egressDrainMs, left(reason)));
    },
  };
}

/** What other plugins see: the service, and nothing of what runs it. */
function face(running: Conversation): ConversationService {
  return {
    publish: (observation, options) => running.publish(observation, options),
    publishOrWait: (observation, options) => running.publishOrWait(observation, options),
    preview: (observation) => running.preview(observation),
    ingestText: (text, options) => running.ingestText(text, options),
    submit: (observation, options) => running.submit(observation, options),
    busy: (sessionKey) => running.busy(sessionKey),
    session: (sessionKey) => running.session(sessionKey),
    sessions: () => running.sessions(),
    stats: () => running.stats(),
    fanOut: (text) => running.fanOut(text),
    coolDown: (cooldown) => running.coolDown(cooldown),
    endCooldown: (adapter) => running.endCooldown(adapter),
    cooldowns: () => running.cooldowns(),
    bindSession: (sessionKey, adapter) => running.bindSession(sessionKey, adapter),
    unbindSession: (sessionKey, adapter) => running.unbindSession(sessionKey, adapter),
    egress: () => running.egress(),
  };
}
