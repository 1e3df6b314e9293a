import { AsyncLocalStorage } from 'node:async_hooks';
import type { ConversationService, PluginDefinition, StartHost, StopReason } from 'mortise/sdk';
import { AlertLimiter, alertObservation } from './alerts.js';
import { Conversation } from './conversation.js';
import { HandlerTable } from './handler-table.js';
import { exposeMetrics } from './metrics.js';

export interface Config {
  readonly busCapacity: number;
  readonly inboxCapacity: number;
  readonly concurrentTurns: number;
  readonly routing: 'user' | 'default';
  readonly idleTtlSeconds: number;
  readonly idleSweepSeconds: number;
  readonly idleMinimum: number;
}

/** One path in for every event: a bus, a router, and one worker per session. */
export default function conversation(): PluginDefinition<Config> {
  let running: Conversation | undefined;
  let gateIsOn = () => false;
  let deadline: number | undefined;
  return {
    key: 'conversation',
    register() {},
    start(host) {
      const gate = host.watch('gate');
      gateIsOn = () => gate.current !== undefined;
      running = startConversation(host, () => gate.current);
      host.on('shutdown', (event) => {
        deadline = event.deadline;
      });
    },
    async stop(reason: StopReason) {
      const left = reason === 'shutdown' && deadline !== undefined ? deadline - Date.now() : 10_000;
      await running?.close(Math.max(left, 0));
    },
    health: () =>
      gateIsOn() ? { ok: true } : { ok: true, detail: 'The gate is off: every message is delivered (gate_off).' },
  };
}

function startConversation(
  host: StartHost<Config>,
  gate: ConstructorParameters<typeof Conversation>[0]['gate'],
): Conversation {
  const { config, points } = host;
  const schedule = host.use('schedule');
  const handlers = host.own(new HandlerTable(points));
  const monotonic = () => schedule.monotonic();
  const alerts = new AlertLimiter(monotonic, (alert) => host.emit('alert', alert));
  // Workers run in the context of the plugin's start, not in that of whoever published: a publisher may be inside of a
  // transaction, or of another plugin's call.
  const detached = AsyncLocalStorage.snapshot();
  const metrics = exposeMetrics(host.use('metrics'), () => running);
  const running = new Conversation({
    points,
    handlers: (type) => handlers.of(type),
    gate,
    routing: { mode: config.routing, sessions: host.use('sessions'), channels: () => points.keys('channel') },
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
  host.every(config.idleSweepSeconds * 1_000, () => {
    running.sessions.collect(config.idleTtlSeconds * 1_000, config.idleMinimum);
  });
  host.on('alert', (alert) => running.publish(alertObservation(alert)));
  host.provide('conversation', face(running));
  return running;
}

/** What other plugins see: the service, and nothing of what runs it. */
function face(running: Conversation): ConversationService {
  return {
    publish: (observation) => running.publish(observation),
    publishOrWait: (observation, options) => running.publishOrWait(observation, options),
    submit: (observation, options) => running.submit(observation, options),
    busy: (sessionKey) => running.busy(sessionKey),
    session: (sessionKey) => running.session(sessionKey),
    stats: () => running.stats(),
  };
}
