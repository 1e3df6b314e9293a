import { EventLog, type TurnCall, type TurnEvent } from 'mortise/contracts/agent';
import type { ReplyPort } from 'mortise/contracts/conversation';
import type { ModelSlot, ResolvedModel } from 'mortise/contracts/models';
import type { OpenTurn, TurnUsage } from 'mortise/contracts/sessions';
import type { ModelMessage, PromptLayer } from 'mortise/sdk';
import type { PromptMode } from './business-params.js';
import type { ToolScope } from './tool-registry.js';
import type { TurnMetrics } from './turn-deps.js';

/** The state of a running turn, complete whenever the turn may end. */
export class LiveTurn {
  readonly turn: OpenTurn;
  readonly log = new EventLog();
  step = 0;
  /** Text of the current step that is not stored yet. */
  unsaved = '';
  usage: TurnUsage | undefined;
  /** Turns of the chat that were not read and are not in a summary. */
  omitted = 0;
  /** The task command that the turn began with; in the codex mode only. */
  task: string | undefined;
  /** The messages of the last model request. */
  sent: readonly ModelMessage[] = [];
  /** These three are set once resolved; a turn may end earlier. */
  model: ResolvedModel | undefined;
  layers: readonly PromptLayer[] = [];
  promptMode: PromptMode | undefined;
  /** Determines the tools of the turn. */
  readonly tools: ToolScope;
  readonly #port: ReplyPort | undefined;
  readonly #metrics: TurnMetrics;
  readonly #startedAt = performance.now();
  #hasText = false;
  #nextOrder = 1;
  #textOrder: number | undefined;
  #toolOrder: number | undefined;

  constructor(turn: OpenTurn, tools: ToolScope, port: ReplyPort | undefined, metrics: TurnMetrics) {
    this.turn = turn;
    this.tools = tools;
    this.#port = port;
    this.#metrics = metrics;
  }

  /** Whether text or a tool came first in the turn, for clients that render it again. */
  get orderMeta(): Readonly<Record<string, unknown>> {
    return {
      ...(this.#textOrder === undefined ? {} : { text_order: this.#textOrder }),
      ...(this.#toolOrder === undefined ? {} : { tool_order: this.#toolOrder }),
    };
  }

  /** @throws the reason of the signal when it is aborted */
  async beginStep(signal: AbortSignal): Promise<void> {
    this.step += 1;
    this.unsaved = '';
    signal.throwIfAborted();
    await this.emit({ type: 'step_started', step: this.step });
  }

  /** Emits a piece of the answer. */
  emitText(delta: string): Promise<void> {
    this.#textOrder ??= this.#nextOrder++;
    this.unsaved += delta;
    if (!this.#hasText) {
      this.#hasText = true;
      this.#metrics.firstToken((performance.now() - this.#startedAt) / 1_000);
    }
    return this.emit({ type: 'assistant_delta', step: this.step, delta });
  }

  emitToolCall(name: string, input: unknown, call: TurnCall): Promise<void> {
    this.#toolOrder ??= this.#nextOrder++;
    return this.emit({ type: 'tool_call', step: this.step, tool_call: { name, input } }, call);
  }

  /** Records an event and sends it to the caller, at the caller's pace. */
  async emit(event: TurnEvent, call?: TurnCall): Promise<void> {
    this.log.add(event);
    await this.#port?.send(call ? { ...event, call } : event);
  }

  /** Adds the usage of a model call. */
  addUsage(usage: TurnUsage | undefined, model: ModelSlot): void {
    if (!usage) return;
    this.#metrics.tokens(usage, model);
    const { inputTokens, outputTokens } = this.usage ?? { inputTokens: 0, outputTokens: 0 };
    this.usage = { inputTokens: inputTokens + usage.inputTokens, outputTokens: outputTokens + usage.outputTokens };
  }
}
