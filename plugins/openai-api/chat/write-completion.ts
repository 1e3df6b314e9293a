import { randomBytes } from 'node:crypto';
import {
  type AnswerBlock,
  type AnswerEnd,
  type AnswerFacts,
  AnswerReader,
  type BlockEvent,
  countedUsage,
  type ModelAnswer,
  type StopReason,
  textOf,
} from 'mortise/contracts/models';
import { type GenerateEvent, isJsonObject, type JsonObject } from 'mortise/sdk';

const finishReasons: Readonly<Record<StopReason, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/** The answer to a request without `stream`. */
export function writeCompletion({ blocks, stopReason, usage }: ModelAnswer, facts: AnswerFacts): JsonObject {
  const calls = blocks.flatMap((block) => (block.kind === 'call' ? [block.call] : []));
  const text = textOf(blocks);
  const reasoning = blocks.map((block) => (block.kind === 'reasoning' ? block.text : '')).join('');
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: args }) => ({
            id,
            type: 'function',
            function: { name, arguments: args },
          })),
        }),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
  };
  return {
    ...head('chat.completion', facts),
    choices: [{ index: 0, message, finish_reason: finishReasons[stopReason], logprobs: null }],
    usage: writeUsage({ usage }, blocks, facts),
    system_fingerprint: null,
  };
}

/** The event stream of an answer, as it arrives. */
export async function* writeCompletionStream(
  events: AsyncIterable<GenerateEvent>,
  facts: AnswerFacts,
  finished: (answer: ModelAnswer) => void,
): AsyncGenerator<string> {
  const { stream_options: options } = facts.apiRequest.body;
  const withUsage = isJsonObject(options) && options.include_usage === true;
  const base = { ...head('chat.completion.chunk', facts), system_fingerprint: null };
  const chunk = (delta: JsonObject, finishReason: string | null = null): string =>
    frame({
      ...base,
      choices: [{ index: 0, delta, finish_reason: finishReason, logprobs: null }],
      ...(withUsage ? { usage: null } : {}),
    });
  const reader = new AnswerReader();
  const deltas = new Deltas();
  const blocks: AnswerBlock[] = [];
  yield chunk({ role: 'assistant', content: '', refusal: null });
  try {
    for await (const event of events) {
      let frames = '';
      for (const one of reader.read(event)) {
        if (one.type === 'stop') blocks.push(one.block);
        const delta = deltas.of(one);
        if (delta) frames += chunk(delta);
      }
      if (frames !== '') yield frames;
    }
    const end = reader.end();
    finished({ blocks, ...end });
    yield chunk({}, finishReasons[end.stopReason]);
    if (withUsage) yield frame({ ...base, choices: [], usage: writeUsage(end, blocks, facts) });
    yield 'data: [DONE]\n\n';
  } catch (error) {
    yield frame(facts.errorBody(error));
  }
}

/** Numbers the calls of tools. */
class Deltas {
  #kind: AnswerBlock['kind'] = 'text';
  #call = -1;

  of(event: BlockEvent): JsonObject | undefined {
    if (event.type === 'start') {
      this.#kind = event.kind;
      if (event.kind !== 'call') return undefined;
      this.#call += 1;
      const { id, name } = event;
      return { tool_calls: [{ index: this.#call, id, type: 'function', function: { name, arguments: '' } }] };
    }
    if (event.type === 'stop') return undefined;
    if (this.#kind === 'text') return { content: event.text };
    if (this.#kind === 'reasoning') return { reasoning_content: event.text };
    return { tool_calls: [{ index: this.#call, function: { arguments: event.text } }] };
  }
}

function head(object: string, { apiRequest, created }: AnswerFacts): JsonObject {
  return { id: `chatcmpl-${randomBytes(12).toString('hex')}`, object, created, model: apiRequest.model };
}

function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function writeUsage(
  { usage }: Pick<AnswerEnd, 'usage'>,
  blocks: readonly AnswerBlock[],
  { estimatedInput }: AnswerFacts,
): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = countedUsage(usage, estimatedInput, blocks);
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}
