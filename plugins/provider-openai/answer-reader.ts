import { incompleteStream, lastEvents, listOf, objectOf, providerError, usageEvent } from 'mortise/contracts/models';
import type { GenerateEvent, JsonObject } from 'mortise/sdk';
import { ToolCallAggregator, type ToolCallDelta } from './aggregate-tool-calls.js';

/** Assembles one answer from the chunks of its stream, or from its one body. */
export class AnswerReader {
  readonly #calls = new ToolCallAggregator();
  #usage: Extract<GenerateEvent, { type: 'usage' }> | undefined;
  #id: string | undefined;
  #finish: string | undefined;
  #stopSequence: string | undefined;
  #hasChoice = false;
  #hasText = false;

  /** @returns the events to pass on. @throws when the chunk contains an error. */
  chunk(chunk: JsonObject): readonly GenerateEvent[] {
    this.#head(chunk);
    const [choice] = listOf(chunk.choices);
    if (choice === undefined) return [];
    const { delta, finish_reason: finish, stop_reason: stopped } = objectOf(choice);
    this.#hasChoice = true;
    if (typeof finish === 'string' && finish !== '') this.#finish = finish;
    if (typeof stopped === 'string') this.#stopSequence = stopped;
    const { content, refusal, tool_calls: calls, reasoning_content, reasoning } = objectOf(delta);
    const events = this.#text(content, refusal, reasoning_content ?? reasoning);
    for (const call of listOf(calls)) {
      const piece = this.#calls.add(objectOf(call) as ToolCallDelta);
      if (piece) events.push({ type: 'tool_call_delta', ...piece });
    }
    return events;
  }

  /** The same for an answer that was not streamed. */
  body(body: JsonObject): readonly GenerateEvent[] {
    this.#head(body);
    const [choice] = listOf(body.choices);
    if (choice === undefined) throw providerError('provider_invalid_reply', 'provider response has no choices');
    const { message, finish_reason: finish, stop_reason: stopped } = objectOf(choice);
    this.#hasChoice = true;
    this.#finish = typeof finish === 'string' && finish !== '' ? finish : 'stop';
    if (typeof stopped === 'string') this.#stopSequence = stopped;
    const { content, refusal, tool_calls: calls, reasoning_content, reasoning } = objectOf(message);
    // Complete calls are identified by their position, regardless of their ids.
    for (const [index, call] of listOf(calls).entries()) this.#calls.add({ ...objectOf(call), index });
    return this.#text(content, refusal, reasoning_content ?? reasoning);
  }

  /**
   * The last events of the answer. `ended`: its end mark was received.
   * @throws provider_request_failed, provider_invalid_reply
   */
  end(ended: boolean): readonly GenerateEvent[] {
    if (this.#finish === undefined && !ended) {
      throw providerError('provider_request_failed', undefined, { cause: incompleteStream });
    }
    if (!this.#hasChoice) throw providerError('provider_invalid_reply', 'provider response has no choices');
    const toolCalls = this.#calls.complete();
    return lastEvents({
      hasText: this.#hasText,
      toolCalls,
      usage: this.#usage,
      ...(this.#id === undefined ? {} : { responseId: this.#id }),
      stopReason: this.#stopSequence === undefined ? stopReason(this.#finish, toolCalls.length > 0) : 'stop_sequence',
      ...(this.#stopSequence === undefined ? {} : { stopSequence: this.#stopSequence }),
    });
  }

  #head({ id, usage, error }: JsonObject): void {
    if (error !== undefined && error !== null) throw reportedFailure(error);
    if (typeof id === 'string' && id !== '') this.#id = id;
    this.#usage = readUsage(objectOf(usage)) ?? this.#usage;
  }

  /** A refusal is in a separate member; its text is the answer. */
  #text(content: unknown, refusal: unknown, reasoning: unknown): GenerateEvent[] {
    const shown = textOf(reasoning);
    const text = textOf(content) || textOf(refusal);
    if (text !== '') this.#hasText = true;
    return [
      ...(shown === '' ? [] : [{ type: 'reasoning_delta' as const, text: shown }]),
      ...(text === '' ? [] : [{ type: 'content_delta' as const, text }]),
    ];
  }
}

function readUsage(usage: JsonObject): Extract<GenerateEvent, { type: 'usage' }> | undefined {
  return usageEvent({
    input: usage.prompt_tokens,
    output: usage.completion_tokens,
    cached: objectOf(usage.prompt_tokens_details).cached_tokens,
    reasoning: objectOf(usage.completion_tokens_details).reasoning_tokens,
  });
}

/** An error that the API reports after the answer has started. */
function reportedFailure(error: unknown): Error {
  const { message, code, type } = objectOf(error);
  const text = typeof error === 'string' ? error : message;
  return providerError('provider_request_failed', undefined, {
    runner_message: typeof text === 'string' ? text : undefined,
    cause: [code, type].find((one): one is string => typeof one === 'string'),
    provider_status: typeof code === 'number' ? code : undefined,
  });
}

/** Some models return their text as a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => objectOf(part))
    .map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : ''))
    .join('');
}

const reasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};

/** The stop reason in the vocabulary of all adapters. */
function stopReason(finish: string | undefined, calls: boolean): string {
  const reason = reasons[finish ?? ''] ?? 'end_turn';
  // Some APIs finish an answer with calls like a text.
  return calls && reason === 'end_turn' ? 'tool_use' : reason;
}
