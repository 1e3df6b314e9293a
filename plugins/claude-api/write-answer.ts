import { randomBytes } from 'node:crypto';
import {
  type AnswerBlock,
  type AnswerEnd,
  type AnswerFacts,
  AnswerReader,
  type AnswerUsage,
  type BlockEvent,
  countedUsage,
  type ModelAnswer,
} from 'mortise/contracts/models';
import { type GenerateEvent, isJsonObject, type JsonObject } from 'mortise/sdk';

/** The answer to a request without `stream`. */
export function writeMessage({ blocks, ...end }: ModelAnswer, { apiRequest, estimatedInput }: AnswerFacts): JsonObject {
  return {
    ...emptyMessage(apiRequest.model),
    content: blocks.flatMap(writeBlock),
    ...writeEnd(end),
    usage: writeUsage(end.usage, estimatedInput, blocks),
  };
}

/** The event stream of an answer, as it arrives. A failed answer ends with an error event. */
export async function* writeStream(
  events: AsyncIterable<GenerateEvent>,
  { apiRequest, estimatedInput, errorBody }: AnswerFacts,
  finished: (answer: ModelAnswer) => void,
): AsyncGenerator<string> {
  const usage = { ...writeUsage(undefined, estimatedInput, []), output_tokens: 1 };
  const begun = { ...emptyMessage(apiRequest.model), stop_reason: null, stop_sequence: null, usage };
  yield frame('message_start', { message: begun });
  yield ping;
  const reader = new AnswerReader();
  const shown = new ShownBlocks();
  const blocks: AnswerBlock[] = [];
  try {
    for await (const event of events) {
      let frames = '';
      for (const one of reader.read(event)) {
        if (one.type === 'stop') blocks.push(one.block);
        frames += shown.frameOf(one);
      }
      if (frames !== '') yield frames;
    }
    const end = reader.end();
    finished({ blocks, ...end });
    const counted = writeUsage(end.usage, estimatedInput, blocks);
    yield frame('message_delta', { delta: writeEnd(end), usage: counted }) + frame('message_stop', {});
  } catch (error) {
    yield `event: error\ndata: ${JSON.stringify(errorBody(error))}\n\n`;
  }
}

/** Keeps an event stream alive; clients ignore it. */
export const ping = frame('ping', {});

function frame(type: string, members: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/** Numbers the blocks that clients see: the reasoning of other providers has no signature, so it is not among them. */
class ShownBlocks {
  #next = 0;
  #kind: AnswerBlock['kind'] = 'text';

  frameOf(event: BlockEvent): string {
    if (event.type === 'start') this.#kind = event.kind;
    if (this.#kind === 'reasoning') return '';
    if (event.type === 'start') {
      const block =
        event.kind === 'call'
          ? { type: 'tool_use', id: callId(event.id), name: event.name, input: {} }
          : { type: 'text', text: '' };
      return frame('content_block_start', { index: this.#next, content_block: block });
    }
    if (event.type === 'delta') {
      const delta =
        this.#kind === 'call'
          ? { type: 'input_json_delta', partial_json: event.text }
          : { type: 'text_delta', text: event.text };
      return frame('content_block_delta', { index: this.#next, delta });
    }
    this.#next += 1;
    return frame('content_block_stop', { index: this.#next - 1 });
  }
}

function emptyMessage(model: string) {
  return { id: `msg_${randomBytes(12).toString('hex')}`, type: 'message', role: 'assistant', model, content: [] };
}

function writeBlock(block: AnswerBlock): readonly JsonObject[] {
  if (block.kind === 'call') {
    const { id, name, arguments: text } = block.call;
    return [{ type: 'tool_use', id: callId(id), name, input: parseInput(text) }];
  }
  return block.kind === 'text' ? [{ type: 'text', text: block.text }] : [];
}

/** Keeps the ids of other providers if Claude's clients accept them, so that results match their calls. */
function callId(id: string): string {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id) ? id : `toolu_${randomBytes(8).toString('hex')}`;
}

function parseInput(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Passed to the client unchanged.
  }
  return { raw_arguments: text };
}

function writeEnd({ stopReason, stopSequence }: AnswerEnd): JsonObject {
  const matched = stopReason === 'stop_sequence' ? (stopSequence ?? null) : null;
  return { stop_reason: stopReason, stop_sequence: matched };
}

function writeUsage(usage: AnswerUsage, estimatedInput: number, blocks: readonly AnswerBlock[]) {
  const { inputTokens, cachedInputTokens, outputTokens } = countedUsage(usage, estimatedInput, blocks);
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    service_tier: 'standard',
  };
}
