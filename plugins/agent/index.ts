import type { PluginDefinition, Refusal } from 'mortise/sdk';
import { ActiveContributions } from './active-contributions.js';
import type { Config } from './config.generated.js';
import { turnHandler } from './handle-observation.js';
import { turnMetrics } from './metrics.js';
import { readSlot } from './model-slot.js';
import { processRoute } from './process-route.js';
import { ToolRunner } from './run-tool.js';
import { turnDoor } from './turn-door.js';

/** The turn engine and its HTTP door. */
export default function agent(): PluginDefinition<Config> {
  return {
    key: 'agent',
    register() {},
    start(host) {
      const { config, points } = host;
      const schedule = host.use('schedule');
      const tools = host.own(new ActiveContributions(points, 'tool'));
      const parts = {
        points,
        sessions: host.use('sessions'),
        conversation: host.use('conversation'),
        providers: host.own(new ActiveContributions(points, 'provider')),
        prompts: host.own(new ActiveContributions(points, 'prompt-source')),
        channels: host.own(new ActiveContributions(points, 'channel')),
        tools: new ToolRunner({
          points,
          tools,
          schemas: host.use('schemas'),
          http: host.use('http'),
          disabled: config.disabledTools,
          timeoutMs: config.toolTimeoutSeconds * 1_000,
        }),
        metrics: turnMetrics(host.use('metrics')),
        refused: (refusal: Refusal) => host.emit('refusal', refusal),
        model: readSlot(config.model),
        compaction: config.compaction,
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
