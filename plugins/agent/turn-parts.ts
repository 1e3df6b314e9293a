import type { OpenTurn, SessionsService } from 'mortise/contracts/sessions';
import type { Points, PromptLayer, Refusal } from 'mortise/sdk';
import type { ActiveContributions } from './active-contributions.js';
import type { TurnProgress } from './agent-loop.js';
import type { Compaction } from './build-context.js';
import type { PromptMode } from './business-params.js';
import type { EventLog } from './event-log.js';
import type { TurnMetrics } from './metrics.js';
import type { ModelSlot } from './model-slot.js';
import type { ResolvedModel } from './resolve-model.js';
import type { ToolRunner } from './run-tool.js';

/** What every turn is made with. */
export interface TurnParts {
  readonly points: Points;
  readonly sessions: SessionsService;
  readonly providers: ActiveContributions<'provider'>;
  readonly prompts: ActiveContributions<'prompt-source'>;
  readonly channels: ActiveContributions<'channel'>;
  readonly tools: ToolRunner;
  readonly metrics: TurnMetrics;
  /** Tells the audit of a caller who was refused. */
  readonly refused: (refusal: Refusal) => void;
  /** The model of turns whose chat has chosen none; the demo when absent. */
  readonly model: ModelSlot | undefined;
  readonly compaction: Compaction;
  readonly maxSteps: number;
  /** Milliseconds; 0 = no limit. */
  readonly turnTimeoutMs: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** One turn while it runs: what is known of it whenever it ends. */
export interface LiveTurn {
  readonly turn: OpenTurn;
  readonly log: EventLog;
  readonly progress: TurnProgress;
  /** Known once they are resolved; a turn may end before. */
  model?: ResolvedModel;
  layers?: readonly PromptLayer[];
  promptMode?: PromptMode;
}
