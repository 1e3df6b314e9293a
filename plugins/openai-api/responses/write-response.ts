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
} from 'mortise/contracts/models';
import { type GenerateEvent, isJsonObject, type JsonObject } from 'mortise/sdk';

/** The answer to a request without `stream`. */
export function writeResponse({ blocks, ...end }: ModelAnswer, facts: AnswerFacts): JsonObject {
  const output = blocks.map((block) => itemOf(block, newId(block.kind)));
  return endedResponse(emptyResponse(facts), output, end, usageOf(end, blocks, facts));
}

/** The event stream of an answer, as it arrives. */
export async function* writeResponseStream(
  events: AsyncIterable<GenerateEvent>,
  facts: AnswerFacts,
  finished: (answer: ModelAnswer) => void,
): AsyncGenerator<string> {
  let number = 0;
  const frame = (type: string, members: JsonObject): string => {
    const data = { type, ...members, sequence_number: number };
    number += 1;
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  };
  const empty = emptyResponse(facts);
  yield frame('response.created', { response: empty }) + frame('response.in_progress', { response: empty });
  const reader = new AnswerReader();
  const items = new OutputItems();
  const blocks: AnswerBlock[] = [];
  try {
    for await (const event of events) {
      let frames = '';
      for (const one of reader.read(event)) {
        if (one.type === 'stop') blocks.push(one.block);
        for (const [type, members] of items.eventsOf(one)) frames += frame(type, members);
      }
      if (frames !== '') yield frames;
    }
    const end = reader.end();
    finished({ blocks, ...end });
    const response = endedResponse(empty, items.done, end, usageOf(end, blocks, facts));
    yield frame(`response.${String(response.status)}`, { response });
  } catch (error) {
    const body = facts.errorBody(error);
    const failure = isJsonObject(body) && isJsonObject(body.error) ? body.error : {};
    const { code, message } = failure;
    const response = { ...empty, status: 'failed', error: { code, message }, output: items.done };
    yield frame('response.failed', { response });
  }
}

type ItemEvent = readonly [type: string, members: JsonObject];

/** The items of a stream, one after the other. */
class OutputItems {
  readonly done: JsonObject[] = [];
  #id = '';
  #kind: AnswerBlock['kind'] = 'text';

  eventsOf(event: BlockEvent): readonly ItemEvent[] {
    if (event.type === 'start') return this.#start(event);
    if (event.type === 'delta') return [this.#delta(event.text)];
    return this.#stop(event.block);
  }

  #start(event: Extract<BlockEvent, { type: 'start' }>): readonly ItemEvent[] {
    this.#kind = event.kind;
    this.#id = newId(event.kind);
    if (event.kind === 'call') {
      const call = { id: event.id, name: event.name, arguments: '' };
      return [this.#item('added', { ...itemOf({ kind: 'call', call }, this.#id), status: 'in_progress' })];
    }
    const empty = itemOf({ kind: event.kind, text: '' }, this.#id);
    const list = event.kind === 'text' ? { content: [] } : { summary: [] };
    const status = event.kind === 'text' ? { status: 'in_progress' } : {};
    const part = event.kind === 'text' ? textPart('') : summaryPart('');
    return [this.#item('added', { ...empty, ...status, ...list }), this.#event(`${this.#part}.added`, { part })];
  }

  #delta(delta: string): ItemEvent {
    if (this.#kind === 'call') return this.#event('response.function_call_arguments.delta', { delta });
    return this.#event(`${this.#text}.delta`, { delta, ...(this.#kind === 'text' ? { logprobs: [] } : {}) });
  }

  #stop(block: AnswerBlock): readonly ItemEvent[] {
    const item = itemOf(block, this.#id);
    const ends: ItemEvent[] = [];
    if (block.kind === 'call') {
      const { name, arguments: text } = block.call;
      ends.push(this.#event('response.function_call_arguments.done', { name, arguments: text }));
    } else {
      const part = block.kind === 'text' ? textPart(block.text) : summaryPart(block.text);
      const logprobs = block.kind === 'text' ? { logprobs: [] } : {};
      ends.push(this.#event(`${this.#text}.done`, { text: block.text, ...logprobs }));
      ends.push(this.#event(`${this.#part}.done`, { part }));
    }
    ends.push(this.#item('done', item));
    this.done.push(item);
    return ends;
  }

  get #part(): string {
    return this.#kind === 'text' ? 'response.content_part' : 'response.reasoning_summary_part';
  }

  get #text(): string {
    return this.#kind === 'text' ? 'response.output_text' : 'response.reasoning_summary_text';
  }

  #item(state: 'added' | 'done', item: JsonObject): ItemEvent {
    return [`response.output_item.${state}`, { output_index: this.done.length, item }];
  }

  #event(type: string, members: JsonObject): ItemEvent {
    const position =
      this.#kind === 'text' ? { content_index: 0 } : this.#kind === 'reasoning' ? { summary_index: 0 } : {};
    return [type, { item_id: this.#id, output_index: this.done.length, ...position, ...members }];
  }
}

const prefixes: Readonly<Record<AnswerBlock['kind'], string>> = { text: 'msg', reasoning: 'rs', call: 'fc' };

function newId(kind: AnswerBlock['kind']): string {
  return `${prefixes[kind]}_${randomBytes(16).toString('hex')}`;
}

function itemOf(block: AnswerBlock, id: string): JsonObject {
  if (block.kind === 'call') {
    const { id: callId, name, arguments: text } = block.call;
    return { id, type: 'function_call', status: 'completed', call_id: callId, name, arguments: text };
  }
  if (block.kind === 'reasoning') return { id, type: 'reasoning', summary: [summaryPart(block.text)] };
  return { id, type: 'message', status: 'completed', role: 'assistant', content: [textPart(block.text)] };
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text };
}

function emptyResponse({ apiRequest, created }: AnswerFacts): JsonObject {
  const { body, model } = apiRequest;
  const { reasoning, text } = body;
  return {
    id: `resp_${randomBytes(16).toString('hex')}`,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null, ...(isJsonObject(reasoning) ? reasoning : {}) },
    store: false,
    temperature: body.temperature ?? 1,
    text: isJsonObject(text) ? text : { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    user: body.user ?? null,
    metadata: body.metadata ?? {},
  };
}

/** Why an answer is not complete. */
const incomplete: Partial<Readonly<Record<StopReason, string>>> = {
  max_tokens: 'max_output_tokens',
  refusal: 'content_filter',
};

function endedResponse(
  empty: JsonObject,
  output: readonly JsonObject[],
  { stopReason }: AnswerEnd,
  usage: JsonObject,
): JsonObject {
  const reason = incomplete[stopReason];
  return {
    ...empty,
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage,
  };
}

function usageOf({ usage }: AnswerEnd, blocks: readonly AnswerBlock[], { estimatedInput }: AnswerFacts): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = countedUsage(usage, estimatedInput, blocks);
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}
