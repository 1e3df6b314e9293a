import type { DirectToolCall } from 'mortise/contracts/agent';
import type { NewMessage } from 'mortise/contracts/sessions';
import type { LoopEnd, LoopParts, TurnProgress } from './agent-loop.js';
import { deltaSize } from './event-log.js';
import { cutText } from './text.js';
import { callerOf } from './tool-caller.js';
import { directToolError } from './tool-errors.js';

/** Names the one call of the turn. */
const callId = 'call_1';

/** A turn that is one call of a tool: no model is asked, and the reply is what the tool said. @throws what became of it */
export async function runDirectTool(
  { turn, tools, ctx, emit }: Pick<LoopParts, 'turn' | 'tools' | 'ctx' | 'emit'>,
  { name, arguments: input }: DirectToolCall,
  progress: TurnProgress,
): Promise<LoopEnd> {
  const step = 1;
  progress.step = step;
  ctx.signal.throwIfAborted();
  await emit({ type: 'step_started', step });
  const call = { id: callId, name, arguments: JSON.stringify(input) };
  await turn.append([{ role: 'assistant', content: '', toolCalls: [call], meta: { step } }]);
  const shown = { id: callId, arguments: input };
  await emit({ type: 'tool_call', step, tool_call: { name, input } }, shown);
  const outcome = await tools.run(call, callerOf(turn, 'direct'), ctx);
  const { ok, text, summary } = outcome;
  await emit({ type: 'tool_result', step, tool_result: { name, ok, summary } }, shown);
  await turn.append([{ role: 'tool', content: text, toolCallId: callId, meta: { name, step, ok, summary } }]);
  if (!outcome.ok) throw directToolError(name, outcome.error);
  for (const delta of cutText(text, deltaSize)) {
    progress.unsaved += delta;
    await emit({ type: 'assistant_delta', step, delta });
  }
  const answer: NewMessage = { role: 'assistant', content: text, meta: { step, tool_order: 1, text_order: 2 } };
  return { kind: 'answered', answer, responseId: undefined };
}
