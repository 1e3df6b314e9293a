import type { PluginDefinition, TurnReply } from 'mortise/sdk';
import { ActiveContributions } from './active-contributions.js';
import { turnHandler } from './handle-observation.js';
import { turnMetrics } from './metrics.js';
import { processRoute } from './process-route.js';
import { ToolRunner } from './run-tool.js';
import { turnDoor } from './turn-door.js';

export interface Config {
  readonly maxSteps: number;
  readonly turnTimeoutSeconds: number;
  readonly queueLimit: number;
  readonly queueWaitSeconds: number;
  readonly toolTimeoutSeconds: number;
}

/** The turn engine and its HTTP door. */
export default function agent(): PluginDefinition<Config> {
  return {
    key: 'agent',
    register() {},
    start(host) {
      const { config, points } = host;
      const schedule = host.use('schedule');
      const tools = host.own(new ActiveContributions(points, 'tool'));
      const timeoutMs = config.toolTimeoutSeconds * 1_000;
      const parts = {
        points,
        sessions: host.use('sessions'),
        conversation: host.use('conversation'),
        providers: host.own(new ActiveContributions(points, 'provider')),
        prompts: host.own(new ActiveContributions(points, 'prompt-source')),
        channels: host.own(new ActiveContributions(points, 'channel')),
        tools: new ToolRunner({ points, tools, schemas: host.use('schemas'), timeoutMs }),
        metrics: turnMetrics(host.use('metrics')),
        announce: (reply: TurnReply) => host.emit('turn-reply', reply),
        maxSteps: config.maxSteps,
        turnTimeoutMs: config.turnTimeoutSeconds * 1_000,
        queueLimit: config.queueLimit,
        queueWaitMs: config.queueWaitSeconds * 1_000,
        now: () => schedule.now(),
      };
      host.provide('turn-door', turnDoor(parts));
      host.contribute('observation-handler', 'agent-turn', turnHandler(parts, parts.queueWaitMs));
      host.contribute('route', 'agent-process', processRoute(parts));
    },
  };
}
