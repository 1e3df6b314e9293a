import type { StoredMessage } from 'mortise/contracts/sessions';
import { type CallContext, canonicalJson, type ModelToolCall, type ToolContext } from 'mortise/sdk';
import type { LiveTurn } from './live-turn.js';
import { resolveAlias } from './tool-names.js';
import type { ToolOutcome } from './tool-result.js';
import { readArguments, type ToolRunner } from './tool-runner.js';

/** Runs one call of a turn and stores its result: `tool_call` before it runs, `tool_result` and the row after it. */
export async function runToolCall(
  tools: ToolRunner,
  live: LiveTurn,
  asked: ModelToolCall,
  caller: ToolContext['caller'],
  ctx: CallContext,
): Promise<{ readonly outcome: ToolOutcome; readonly rows: readonly StoredMessage[] }> {
  ctx.signal.throwIfAborted();
  const { turn, step } = live;
  const call = withRequestId(asked, caller);
  const { id, name } = call;
  const args = readArguments(call.arguments);
  const shown = { id, arguments: args.ok ? args.value : {} };
  await live.emitToolCall(name, args.ok ? args.value : args.shown, shown);
  const { sessionId, userId, channel } = turn.chat.session;
  // The epoch lets outside systems refuse a turn whose claim was taken over.
  const session = { key: turn.sessionKey, sessionId, userId, channel, turnId: turn.turnId, epoch: turn.epoch };
  const outcome = await tools.run(call, { caller, session }, live.tools, ctx);
  const { ok, text, summary } = outcome;
  await live.emit({ type: 'tool_result', step, tool_result: { name, ok, summary } }, shown);
  const rows = await turn.append([{ role: 'tool', content: text, toolCallId: id, meta: { name, step, ok, summary } }]);
  return { outcome, rows };
}

/** The tool whose calls are answered by users: its event carries the id that the answer must name. */
const questionTool = 'request_user_input';

function withRequestId(call: ModelToolCall, caller: ToolContext['caller']): ModelToolCall {
  if (resolveAlias(call.name) !== questionTool) return call;
  const args = readArguments(call.arguments);
  if (!args.ok || (typeof args.value.request_id === 'string' && args.value.request_id.trim() !== '')) return call;
  const id =
    caller === 'agent' && call.id !== '' ? call.id : `request-user-input-${process.hrtime.bigint() + epochOffset}`;
  return { ...call, arguments: JSON.stringify({ ...args.value, request_id: id }) };
}

/** Makes the monotonic clock count from 1970: ids increase and are unique in a process. */
const epochOffset = BigInt(Date.now()) * 1_000_000n - process.hrtime.bigint();

/** Identical calls in a row that count as a loop. */
const repeatLimit = 5;
/** Tools that are meant to be called repeatedly. */
const exempt = ['wait', 'write_stdin', 'request_user_input'];

/**
 * Detects a model that repeats the same call and gets the same result. It ends a turn only while that
 * saves more steps than the detection took: with fewer steps left, the step limit ends the turn with a readable answer.
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
