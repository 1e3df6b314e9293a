import type { TurnCall, TurnEvent } from 'mortise/contracts/agent';
import type { NewMessage, OpenTurn, SessionsService, StoredMessage, TurnUsage } from 'mortise/contracts/sessions';
import type { CallContext, ModelMessage, Points, PromptLayer } from 'mortise/sdk';
import { askModel, type ModelAnswer } from './ask-model.js';
import { buildContext, type Compaction } from './build-context.js';
import { agentError } from './errors.js';
import { LoopDetector } from './loop-detector.js';
import type { ResolvedModel } from './resolve-model.js';
import type { ToolRunner } from './run-tool.js';
import { readArguments } from './tool-arguments.js';
import { callerOf } from './tool-caller.js';

/** What a turn says when it has used up its steps. */
export const limitText = "I've reached the maximum number of tool calls. Please try again.";
const emptyReply = '(empty reply)';

export interface LoopParts {
  readonly points: Points;
  readonly sessions: Pick<SessionsService, 'modelMessages'>;
  readonly tools: ToolRunner;
  readonly turn: OpenTurn;
  readonly model: ResolvedModel;
  readonly layers: readonly PromptLayer[];
  readonly compaction: Compaction;
  readonly maxSteps: number;
  readonly ctx: CallContext;
  /** `call` goes with the events of a tool, for those who watch the turn. */
  readonly emit: (event: TurnEvent, call?: TurnCall) => Promise<void> | void;
}

/** How far a turn has come; what is left of it when it ends early. */
export interface TurnProgress {
  step: number;
  /** Text of the current step that is not in a row yet. */
  unsaved: string;
  usage: TurnUsage | undefined;
  /** What the model was sent last. */
  sent: readonly ModelMessage[];
}

export interface LoopEnd {
  /** `step_limit`: the answer is the safety text. */
  readonly kind: 'answered' | 'step_limit';
  readonly answer: NewMessage;
  readonly responseId: string | undefined;
}

/**
 * The conversation of a model with its tools: ask, run the calls, ask again, until there is an answer or the steps are
 * used up. Each round is stored before the next begins.
 */
export async function runLoop(parts: LoopParts, progress: TurnProgress): Promise<LoopEnd> {
  const { turn, maxSteps, ctx } = parts;
  const rows: StoredMessage[] = [...(await turn.history())];
  const order = new FirstOf();
  const detector = new LoopDetector();
  for (;;) {
    progress.step += 1;
    progress.unsaved = '';
    ctx.signal.throwIfAborted();
    await parts.emit({ type: 'step_started', step: progress.step });
    const answer = await ask(parts, progress, rows, order);
    if (answer.toolCalls.length === 0) {
      return {
        kind: 'answered',
        answer: await finalRow(parts, progress, answer, order),
        responseId: answer.responseId,
      };
    }
    await runRound(parts, progress, rows, answer, order, detector);
    if (progress.step >= maxSteps) {
      const text = limitText;
      await emitDelta(parts, progress, text, order);
      const answered: NewMessage = {
        role: 'assistant',
        content: text,
        status: 'limit',
        meta: order.meta(progress.step),
      };
      return { kind: 'step_limit', answer: answered, responseId: answer.responseId };
    }
  }
}

async function ask(
  parts: LoopParts,
  progress: TurnProgress,
  rows: readonly StoredMessage[],
  order: FirstOf,
): Promise<ModelAnswer> {
  const { points, model, turn, ctx, tools } = parts;
  const definitions = model.capabilities.toolCall ? await tools.definitions(ctx.principal) : [];
  const offered = definitions.map(({ name, facts }) => ({
    name,
    description: facts.description ?? facts.summary,
    parameters: facts.inputSchema,
  }));
  progress.sent = buildContext(rows, {
    layers: parts.layers,
    tools: offered,
    limits: model.limits,
    compaction: parts.compaction,
    turnId: turn.turnId,
    modelMessages: parts.sessions.modelMessages,
  });
  const answer = await askModel({
    points,
    model,
    ctx,
    request: {
      messages: progress.sent,
      sessionId: turn.chat.session.sessionId,
      ...(offered.length === 0 ? {} : { tools: offered }),
    },
    onDelta: (text) => emitDelta(parts, progress, text, order),
  });
  progress.usage = addUsage(progress.usage, answer.usage);
  return answer;
}

async function finalRow(
  parts: LoopParts,
  progress: TurnProgress,
  answer: ModelAnswer,
  order: FirstOf,
): Promise<NewMessage> {
  let content = answer.text;
  if (content.trim() === '') {
    content = emptyReply;
    await emitDelta(parts, progress, emptyReply, order);
  }
  return { role: 'assistant', content, meta: { ...order.meta(progress.step), ...answerMeta(answer) } };
}

/** The assistant's row is stored before any of its tools runs, and each tool's row right after it has run. */
async function runRound(
  parts: LoopParts,
  progress: TurnProgress,
  rows: StoredMessage[],
  answer: ModelAnswer,
  order: FirstOf,
  detector: LoopDetector,
): Promise<void> {
  const { turn, tools, ctx } = parts;
  const { step } = progress;
  const asked: NewMessage = {
    role: 'assistant',
    content: answer.text,
    toolCalls: answer.toolCalls,
    meta: { step, ...answerMeta(answer) },
  };
  rows.push(...(await turn.append([asked])));
  progress.unsaved = '';
  for (const call of answer.toolCalls) {
    ctx.signal.throwIfAborted();
    order.tool();
    const args = readArguments(call.arguments);
    const input = args.ok ? args.value : args.shown;
    const shown = { id: call.id, arguments: args.ok ? args.value : {} };
    await parts.emit({ type: 'tool_call', step, tool_call: { name: call.name, input } }, shown);
    const { ok, text, summary } = await tools.run(call, callerOf(turn, 'agent'), ctx);
    await parts.emit({ type: 'tool_result', step, tool_result: { name: call.name, ok, summary } }, shown);
    const result: NewMessage = {
      role: 'tool',
      content: text,
      toolCallId: call.id,
      meta: { name: call.name, step, ok, summary },
    };
    rows.push(...(await turn.append([result])));
    if (detector.ends(call, text, parts.maxSteps - step)) {
      throw agentError('agent_loop_detected', { details: { tool: call.name } });
    }
  }
}

async function emitDelta(parts: LoopParts, progress: TurnProgress, delta: string, order: FirstOf): Promise<void> {
  order.text();
  progress.unsaved += delta;
  await parts.emit({ type: 'assistant_delta', step: progress.step, delta });
}

function answerMeta({ responseId, opaque }: ModelAnswer): Readonly<Record<string, unknown>> {
  return {
    ...(responseId === undefined ? {} : { provider_response_id: responseId }),
    ...(opaque === undefined ? {} : { opaque }),
  };
}

function addUsage(sum: TurnUsage | undefined, usage: TurnUsage | undefined): TurnUsage | undefined {
  if (!sum || !usage) return sum ?? usage;
  return {
    inputTokens: sum.inputTokens + usage.inputTokens,
    outputTokens: sum.outputTokens + usage.outputTokens,
  };
}

/** Whether text or a tool came first in the turn: what a page needs to draw a bubble as it was. */
class FirstOf {
  #next = 1;
  #text: number | undefined;
  #tool: number | undefined;

  text(): void {
    this.#text ??= this.#next++;
  }

  tool(): void {
    this.#tool ??= this.#next++;
  }

  meta(step: number): Readonly<Record<string, unknown>> {
    return {
      step,
      ...(this.#text === undefined ? {} : { text_order: this.#text }),
      ...(this.#tool === undefined ? {} : { tool_order: this.#tool }),
    };
  }
}
