import type { StoredMessage } from 'mortise/contracts/sessions';
import { type CallContext, canonicalJson, type ModelToolCall, type ToolContext } from 'mortise/sdk';
import type { LiveTurn } from './live-turn.js';
import { readArguments, type ToolOutcome, type ToolRunner } from './tool-runner.js';

/** Runs one call of a turn and stores its result: `tool_call` before it runs, `tool_result` and the row after it. */
export async function runToolCall(
  tools: ToolRunner,
  live: LiveTurn,
  call: ModelToolCall,
  caller: ToolContext['caller'],
  ctx: CallContext,
): Promise<{ readonly outcome: ToolOutcome; readonly rows: readonly StoredMessage[] }> {
  ctx.signal.throwIfAborted();
  const { turn, step } = live;
  const { id, name } = call;
  const args = readArguments(call.arguments);
  const shown = { id, arguments: args.ok ? args.value : {} };
  await live.emitToolCall(name, args.ok ? args.value : args.shown, shown);
  const { sessionId, userId, channel } = turn.chat.session;
  // The epoch lets outside systems refuse a turn whose claim was taken over.
  const session = { key: turn.sessionKey, sessionId, userId, channel, turnId: turn.turnId, epoch: turn.epoch };
  const outcome = await tools.run(call, { caller, session, offered: live.offered }, ctx);
  const { ok, text, summary } = outcome;
  await live.emit({ type: 'tool_result', step, tool_result: { name, ok, summary } }, shown);
  const rows = await turn.append([{ role: 'tool', content: text, toolCallId: id, meta: { name, step, ok, summary } }]);
  return { outcome, rows };
}

/** Identical calls in a row that count as a loop. */
const repeatLimit = 5;
/** Tools that are meant to be called repeatedly. */
const exempt = ['wait', 'write_stdin', 'request_user_input'];

/**
 * Notices a model that makes the same call again and again and gets the same result. It ends a turn only while that
 * saves more steps than it took to notice: with fewer steps left, the step limit ends the turn with a readable answer.
 */
export class LoopDetector {
  #last: string | undefined;
  #count = 0;

  /** True when the turn should end after this call. */
  isLoop({ name, arguments: text }: ModelToolCall, result: string, stepsLeft: number): boolean {
    if (exempt.includes(name)) return false;
    const call = `${name}\n${canonicalArguments(text)}\n${result}`;
    this.#count = call === this.#last ? this.#count + 1 : 1;
    this.#last = call;
    return this.#count >= repeatLimit && stepsLeft > repeatLimit;
  }
}

function canonicalArguments(text: string): string {
  try {
    return canonicalJson(JSON.parse(text));
  } catch {
    return text;
  }
}
