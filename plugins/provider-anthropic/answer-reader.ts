import { incompleteStream, isCount, lastEvents, objectOf, providerError, usageEvent } from 'mortise/contracts/models';
import type { GenerateEvent, JsonObject } from 'mortise/sdk';
import { BlockBuilder, toOpaque } from './content-blocks.js';

/** Assembles one answer from the events of its stream, or from its one body. */
export class AnswerReader {
  readonly #blocks = new Map<unknown, BlockBuilder>();
  #id: string | undefined;
  #stopReason: string | undefined;
  #stopSequence: string | undefined;
  #usage: JsonObject = {};
  #hasText = false;
  #ended = false;

  /** Whether the last event of the answer was read. */
  get ended(): boolean {
    return this.#ended;
  }

  /** @returns the events to pass on. @throws when the event is an error. */
  event(event: JsonObject): readonly GenerateEvent[] {
    switch (event.type) {
      case 'message_start':
        this.#message(objectOf(event.message));
        return [];
      case 'content_block_start':
        return this.#begin(event.index, objectOf(event.content_block));
      case 'content_block_delta':
        return this.#delta(event.index, objectOf(event.delta));
      case 'message_delta':
        this.#message(objectOf(event.delta));
        this.#usage = { ...this.#usage, ...counted(objectOf(event.usage)) };
        return [];
      case 'message_stop':
        this.#ended = true;
        return [];
      case 'error':
        throw reportedFailure(objectOf(event.error));
      default:
        return [];
    }
  }

  /** The same for an answer that was not streamed. */
  body(body: JsonObject): readonly GenerateEvent[] {
    if (body.type === 'error') throw reportedFailure(objectOf(body.error));
    if (!Array.isArray(body.content)) throw providerError('provider_invalid_reply', 'provider response has no content');
    this.#message(body);
    this.#ended = true;
    return body.content.flatMap((block, index) => this.#begin(index, objectOf(block)));
  }

  /**
   * The last events of the answer.
   * @throws provider_request_failed, provider_invalid_reply
   */
  end(): readonly GenerateEvent[] {
    if (!this.#ended && this.#stopReason === undefined) {
      throw providerError('provider_request_failed', undefined, { cause: incompleteStream });
    }
    const blocks = [...this.#blocks.values()];
    const toolCalls = blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }, index) => ({ id: id || `call_${index + 1}`, name, arguments: input }));
    return lastEvents({
      hasText: this.#hasText,
      toolCalls,
      usage: readUsage(this.#usage),
      ...(this.#id === undefined ? {} : { responseId: this.#id }),
      stopReason: stopReasons[this.#stopReason ?? ''] ?? this.#stopReason ?? 'end_turn',
      ...(this.#stopSequence === undefined ? {} : { stopSequence: this.#stopSequence }),
      opaque: toOpaque(blocks.flatMap((block) => block.toJson() ?? [])),
    });
  }

  #message({ id, stop_reason: reason, stop_sequence: sequence, usage }: JsonObject): void {
    if (typeof id === 'string') this.#id = id;
    if (typeof reason === 'string') this.#stopReason = reason;
    if (typeof sequence === 'string') this.#stopSequence = sequence;
    this.#usage = { ...this.#usage, ...counted(objectOf(usage)) };
  }

  #begin(index: unknown, start: JsonObject): readonly GenerateEvent[] {
    const block = new BlockBuilder(start);
    this.#blocks.set(index, block);
    if (block.type !== 'tool_use') return this.#shown(start);
    const at = this.#toolIndex(block);
    // A block that is not streamed has its input at once.
    const args = Object.keys(objectOf(start.input)).length > 0 ? block.input : '';
    return [{ type: 'tool_call_delta', index: at, id: block.id, name: block.name, arguments: args }];
  }

  #delta(index: unknown, delta: JsonObject): readonly GenerateEvent[] {
    const block = this.#blocks.get(index);
    if (!block) throw providerError('provider_invalid_reply', 'provider response has a delta without its block');
    block.add(delta);
    if (block.type !== 'tool_use') return this.#shown(delta);
    const piece = delta.partial_json;
    if (typeof piece !== 'string' || piece === '') return [];
    return [{ type: 'tool_call_delta', index: this.#toolIndex(block), arguments: piece }];
  }

  #shown({ text, thinking }: JsonObject): readonly GenerateEvent[] {
    const reasoning = typeof thinking === 'string' ? thinking : '';
    const content = typeof text === 'string' ? text : '';
    if (content !== '') this.#hasText = true;
    return [
      ...(reasoning === '' ? [] : [{ type: 'reasoning_delta' as const, text: reasoning }]),
      ...(content === '' ? [] : [{ type: 'content_delta' as const, text: content }]),
    ];
  }

  #toolIndex(block: BlockBuilder): number {
    return [...this.#blocks.values()].filter(({ type }) => type === 'tool_use').indexOf(block);
  }
}

function reportedFailure({ message, type }: JsonObject): Error {
  return providerError('provider_request_failed', undefined, {
    runner_message: typeof message === 'string' ? message : undefined,
    cause: typeof type === 'string' ? type : undefined,
  });
}

const stopReasons: Readonly<Record<string, string>> = {
  pause_turn: 'end_turn',
  model_context_window_exceeded: 'max_tokens',
};

/** Later events repeat some counts and have null for others. */
function counted(usage: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null && value !== undefined));
}

/** The API counts cached input separately. */
function readUsage(usage: JsonObject): Extract<GenerateEvent, { type: 'usage' }> | undefined {
  const { input_tokens: input, output_tokens: output, cache_read_input_tokens: cached } = usage;
  const countOf = (value: unknown): number => (isCount(value) ? value : 0);
  return usageEvent({
    input: isCount(input) ? input + countOf(cached) + countOf(usage.cache_creation_input_tokens) : undefined,
    output,
    cached,
    reasoning: objectOf(usage.output_tokens_details).thinking_tokens,
  });
}
