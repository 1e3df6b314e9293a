import {
  incompleteStream,
  lastEvents,
  listOf,
  objectOf,
  providerError,
  uniqueIds,
  usageEvent,
} from 'mortise/contracts/models';
import type { GenerateEvent, JsonObject } from 'mortise/sdk';

interface Call {
  id: string;
  name: string;
  arguments: string;
  /** Fragments of it were passed on. */
  shown: boolean;
}

/** Assembles one answer from the events of its stream, or from its one body. */
export class AnswerReader {
  /** By output item. */
  readonly #calls = new Map<unknown, Call>();
  /** Output items whose text was streamed. */
  readonly #streamed = new Set<unknown>();
  #id: string | undefined;
  #usage: Extract<GenerateEvent, { type: 'usage' }> | undefined;
  #incomplete: string | undefined;
  #hasText = false;
  #ended = false;

  /** Whether the last event of the answer was read. */
  get ended(): boolean {
    return this.#ended;
  }

  /** @returns the events to pass on. @throws when the event is an error. */
  event(event: JsonObject): readonly GenerateEvent[] {
    const { type, output_index: at, delta } = event;
    switch (type) {
      case 'response.created':
        this.#response(objectOf(event.response));
        return [];
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#streamed.add(at);
        return this.#text(delta);
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return typeof delta === 'string' && delta !== '' ? [{ type: 'reasoning_delta', text: delta }] : [];
      case 'response.output_item.added':
        return this.#begin(at, objectOf(event.item));
      case 'response.function_call_arguments.delta':
        return this.#fragment(at, delta);
      case 'response.output_item.done':
        return this.#item(at, objectOf(event.item));
      case 'response.completed':
      case 'response.incomplete':
        this.#response(objectOf(event.response));
        this.#ended = true;
        return [];
      case 'response.failed':
        throw reportedFailure(objectOf(objectOf(event.response).error));
      case 'error':
        throw reportedFailure(event.error === undefined ? event : objectOf(event.error));
      default:
        return [];
    }
  }

  /** The same for an answer that was not streamed. */
  body(body: JsonObject): readonly GenerateEvent[] {
    if (body.error !== undefined && body.error !== null) throw reportedFailure(objectOf(body.error));
    if (!Array.isArray(body.output)) throw providerError('provider_invalid_reply', 'provider response has no output');
    this.#response(body);
    this.#ended = true;
    return body.output.flatMap((item, index) => this.#item(index, objectOf(item)));
  }

  /**
   * The last events of the answer.
   * @throws provider_request_failed, provider_invalid_reply
   */
  end(): readonly GenerateEvent[] {
    if (!this.#ended) throw providerError('provider_request_failed', undefined, { cause: incompleteStream });
    const toolCalls = withIds([...this.#calls.values()]);
    return lastEvents({
      hasText: this.#hasText,
      toolCalls,
      usage: this.#usage,
      ...(this.#id === undefined ? {} : { responseId: this.#id }),
      stopReason: reasons[this.#incomplete ?? ''] ?? (toolCalls.length > 0 ? 'tool_use' : 'end_turn'),
    });
  }

  #response({ id, usage, incomplete_details: incomplete }: JsonObject): void {
    if (typeof id === 'string' && id !== '') this.#id = id;
    const { reason } = objectOf(incomplete);
    if (typeof reason === 'string') this.#incomplete = reason;
    this.#usage = readUsage(objectOf(usage)) ?? this.#usage;
  }

  #text(text: unknown): readonly GenerateEvent[] {
    if (typeof text !== 'string' || text === '') return [];
    this.#hasText = true;
    return [{ type: 'content_delta', text }];
  }

  #begin(at: unknown, item: JsonObject): readonly GenerateEvent[] {
    if (item.type !== 'function_call') return [];
    const call: Call = { id: textOf(item.call_id), name: textOf(item.name), arguments: '', shown: false };
    this.#calls.set(at, call);
    if (call.name === '') return [];
    call.shown = true;
    return [{ type: 'tool_call_delta', index: this.#calls.size - 1, ...named(call), arguments: '' }];
  }

  #fragment(at: unknown, delta: unknown): readonly GenerateEvent[] {
    const call = this.#calls.get(at);
    if (!call || typeof delta !== 'string' || delta === '') return [];
    call.arguments += delta;
    return call.shown ? [{ type: 'tool_call_delta', index: this.#indexOf(at), arguments: delta }] : [];
  }

  /** A complete item. Its text is used only if it was not streamed. */
  #item(at: unknown, item: JsonObject): readonly GenerateEvent[] {
    if (item.type === 'function_call') return this.#finish(at, item);
    if (item.type !== 'message' || this.#streamed.has(at)) return [];
    return listOf(item.content).flatMap((part) => {
      const { type, text, refusal } = objectOf(part);
      return type === 'output_text' ? this.#text(text) : this.#text(refusal);
    });
  }

  #finish(at: unknown, item: JsonObject): readonly GenerateEvent[] {
    const known = this.#calls.get(at);
    const call: Call = known ?? { id: '', name: '', arguments: '', shown: false };
    this.#calls.set(at, call);
    const streamed = call.arguments;
    call.id = textOf(item.call_id) || call.id;
    call.name = textOf(item.name) || call.name;
    call.arguments = textOf(item.arguments) || streamed;
    const index = this.#indexOf(at);
    if (!call.shown) return [{ type: 'tool_call_delta', index, ...named(call), arguments: call.arguments }];
    const rest = streamed === '' ? call.arguments : '';
    return rest === '' ? [] : [{ type: 'tool_call_delta', index, arguments: rest }];
  }

  #indexOf(at: unknown): number {
    return [...this.#calls.keys()].indexOf(at);
  }
}

function named({ id, name }: Call): { readonly id?: string; readonly name: string } {
  return { ...(id === '' ? {} : { id }), name };
}

/** Missing and duplicate ids become `call_<n>`; missing arguments an object. */
function withIds(calls: readonly Call[]) {
  const ids = uniqueIds(calls.map(({ id }) => id));
  return calls.map(({ name, arguments: args }, index) => ({
    id: ids[index] ?? '',
    name,
    arguments: args.trim() === '' ? '{}' : args,
  }));
}

const reasons: Readonly<Record<string, string>> = { max_output_tokens: 'max_tokens', content_filter: 'refusal' };

function reportedFailure({ message, code, type }: JsonObject): Error {
  return providerError('provider_request_failed', undefined, {
    runner_message: typeof message === 'string' ? message : undefined,
    cause: [code, type].find((one): one is string => typeof one === 'string' && one !== 'error'),
  });
}

function readUsage(usage: JsonObject): Extract<GenerateEvent, { type: 'usage' }> | undefined {
  return usageEvent({
    input: usage.input_tokens,
    output: usage.output_tokens,
    cached: objectOf(usage.input_tokens_details).cached_tokens,
    reasoning: objectOf(usage.output_tokens_details).reasoning_tokens,
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
