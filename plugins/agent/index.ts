import { activeByKey, createContributionCache, type PluginDefinition, type Refusal, runsAtCaller } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { turnHandler } from './handle-observation.js';
import { processRoute } from './process-route.js';
import { readSlot } from './resolve-model.js';
import { ToolRegistry } from './tool-registry.js';
import { ToolRunner } from './tool-runner.js';
import { type TurnDeps, turnMetrics } from './turn-deps.js';
import { turnService } from './turn-service.js';

/** The turn engine and its HTTP endpoint. */
export default function agent(): PluginDefinition<Config> {
  return {
    key: 'agent',
    register(host) {
      host.contribute('command', 'chats-send', runsAtCaller(host.facts('command', 'chats-send')));
    },
    start(host) {
      const { config, points } = host;
      const schedule = host.use('schedule');
      const channelConfigs = host.watch('channels');
      const refused = (refusal: Refusal) => host.emit('refusal', refusal);
      const deps: TurnDeps = {
        points,
        sessions: host.use('sessions'),
        conversation: host.use('conversation'),
        models: host.use('models'),
        prompts: createContributionCache(points, 'prompt-source', activeByKey),
        channels: createContributionCache(points, 'channel', activeByKey),
        channelConfigs: () => channelConfigs.current,
        tools: new ToolRunner({
          points,
          registry: new ToolRegistry({
            points,
            tools: createContributionCache(points, 'tool', activeByKey),
            disabled: config.disabledTools,
          }),
          schemas: host.use('schemas'),
          http: host.use('http'),
          refused,
          timeoutMs: config.toolTimeoutSeconds * 1_000,
        }),
        metrics: turnMetrics(host.use('metrics')),
        refused,
        taskCompleted: (task) => host.emit('task-completed', task),
        model: readSlot(config.model),
        compaction: config.compaction,
        maxSteps: config.maxSteps,
        turnTimeoutMs: config.turnTimeoutSeconds * 1_000,
        wait: { limit: config.queueLimit, timeoutMs: config.queueWaitSeconds * 1_000 },
        now: () => schedule.now(),
      };
      const turns = turnService(deps);
      host.provide('turns', turns);
      host.contribute('observation-handler', 'agent-turn', turnHandler(deps));
      host.contribute('route', 'agent-process', processRoute(deps, turns));
    },
  };
}
