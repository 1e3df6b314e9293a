import type { CompletedTask } from 'mortise/contracts/agent';
import type { ChannelsService } from 'mortise/contracts/channels';
import type { ConversationService, QueueWait } from 'mortise/contracts/conversation';
import type { ModelSlot, ModelsService } from 'mortise/contracts/models';
import type { SessionsService, TurnStatus, TurnUsage } from 'mortise/contracts/sessions';
import type { Contribution, ContributionCache, MetricsService, Points, Refusal } from 'mortise/sdk';
import type { Compaction } from './build-context.js';
import type { ToolRunner } from './tool-runner.js';

/** The dependencies of turns: services, contributions and settings. */
export interface TurnDeps {
  readonly points: Points;
  readonly sessions: SessionsService;
  readonly conversation: ConversationService;
  readonly models: ModelsService;
  readonly prompts: ContributionCache<ReadonlyMap<string, Contribution<'prompt-source'>>>;
  readonly channels: ContributionCache<ReadonlyMap<string, Contribution<'channel'>>>;
  /** Undefined without the plugin `channels`: every channel has its defaults. */
  readonly channelConfigs: () => ChannelsService | undefined;
  readonly tools: ToolRunner;
  readonly metrics: TurnMetrics;
  /** Reports a refused caller to the audit trail. */
  readonly refused: (refusal: Refusal) => void;
  /** Announces to other plugins that a task command was answered. */
  readonly taskCompleted: (task: CompletedTask) => void;
  /** The model of chats that have chosen none while no model is active. */
  readonly model: ModelSlot | undefined;
  readonly compaction: Compaction;
  readonly maxSteps: number;
  /** Milliseconds; 0 = no limit. */
  readonly turnTimeoutMs: number;
  /** How long a turn may wait for its session unless its entry point says otherwise. */
  readonly wait: QueueWait;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export interface TurnMetrics {
  turn(status: TurnStatus, provider: string): void;
  firstToken(seconds: number): void;
  /** The token usage of one model call. */
  tokens(usage: TurnUsage, model: ModelSlot): void;
}

export function turnMetrics(metrics: MetricsService): TurnMetrics {
  const turns = metrics.counter('mortise_turns_total', 'Agent turns by final status', ['status', 'provider']);
  const first = metrics.histogram('mortise_turn_first_token_seconds', 'Time from opening a turn to its first text');
  const labels = ['provider', 'model'] as const;
  const prompt = metrics.counter('mortise_prompt_tokens_total', 'Prompt tokens of turns', labels);
  const completion = metrics.counter('mortise_completion_tokens_total', 'Completion tokens of turns', labels);
  return {
    tokens({ inputTokens, outputTokens }, { providerId: provider, model }) {
      prompt.add(inputTokens, { provider, model });
      completion.add(outputTokens, { provider, model });
    },
    turn: (status, provider) => turns.add(1, { status, provider }),
    firstToken: (seconds) => first.record(seconds),
  };
}
