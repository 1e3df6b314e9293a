import type { GenerateEvent } from 'mortise/sdk';
import { incompleteStream, providerError } from '../errors.js';
import { ToolCallAggregator, type ToolCallDelta } from './aggregate-tool-calls.js';
import { type Json, listOf, objectOf } from './json.js';
import { stopReason } from './stop-reason.js';

/** Gathers one answer from the chunks of its stream, or from the one body it came in. */
export class AnswerReader {
  readonly #calls = new ToolCallAggregator();
  #usage: Extract<GenerateEvent, { type: 'usage' }> | undefined;
  #id: string | undefined;
  #finish: string | undefined;
  #chosen = false;
  #said = false;

  /** @returns the text that a chunk adds. @throws when the chunk reports an error */
  chunk(chunk: Json): string {
    this.#head(chunk);
    const [choice] = listOf(chunk.choices);
    if (choice === undefined) return '';
    const { delta, finish_reason: finish } = objectOf(choice);
    this.#chosen = true;
    if (typeof finish === 'string' && finish !== '') this.#finish = finish;
    const { content, refusal, tool_calls: calls } = objectOf(delta);
    for (const call of listOf(calls)) this.#calls.add(objectOf(call) as ToolCallDelta);
    return this.#text(content, refusal);
  }

  /** The same for an answer that was not streamed. */
  body(body: Json): string {
    this.#head(body);
    const [choice] = listOf(body.choices);
    if (choice === undefined) throw providerError('provider_invalid_reply', 'provider response has no choices');
    const { message, finish_reason: finish } = objectOf(choice);
    this.#chosen = true;
    this.#finish = typeof finish === 'string' && finish !== '' ? finish : 'stop';
    const { content, refusal, tool_calls: calls } = objectOf(message);
    // Complete calls are distinguished by their position, regardless of their ids.
    for (const [index, call] of listOf(calls).entries()) this.#calls.add({ ...objectOf(call), index });
    return this.#text(content, refusal);
  }

  /**
   * What is told once the answer is there. `ended`: its end mark was seen.
   * @throws provider_request_failed, provider_invalid_reply
   */
  end(ended: boolean): readonly GenerateEvent[] {
    if (this.#finish === undefined && !ended) {
      throw providerError('provider_request_failed', undefined, { cause: incompleteStream });
    }
    if (!this.#chosen) throw providerError('provider_invalid_reply', 'provider response has no choices');
    const toolCalls = this.#calls.complete();
    if (toolCalls.some(({ name }) => name === '')) {
      throw providerError('provider_invalid_reply', 'provider response has a tool call without a name');
    }
    if (!this.#said && toolCalls.length === 0) {
      throw providerError('provider_invalid_reply', 'provider response has empty content');
    }
    return [
      ...(toolCalls.length > 0 ? [{ type: 'tool_calls_complete' as const, toolCalls }] : []),
      ...(this.#usage ? [this.#usage] : []),
      {
        type: 'done',
        ...(this.#id === undefined ? {} : { responseId: this.#id }),
        stopReason: stopReason(this.#finish, toolCalls.length > 0),
      },
    ];
  }

  #head({ id, usage, error }: Json): void {
    if (error !== undefined && error !== null) throw toldFailure(error);
    if (typeof id === 'string' && id !== '') this.#id = id;
    const { prompt_tokens: input, completion_tokens: output } = objectOf(usage);
    if (isCount(input) && isCount(output)) this.#usage = { type: 'usage', inputTokens: input, outputTokens: output };
  }

  /** A model that refuses says so in a member of its own: it is what people are to read. */
  #text(content: unknown, refusal: unknown): string {
    const text = textOf(content) || textOf(refusal);
    if (text !== '') this.#said = true;
    return text;
  }
}

/** The API reported an error after the response had begun. */
function toldFailure(error: unknown): Error {
  const { message, code, type } = objectOf(error);
  const words = typeof error === 'string' ? error : message;
  return providerError('provider_request_failed', undefined, {
    runner_message: typeof words === 'string' ? words : undefined,
    cause: [code, type].find((one): one is string => typeof one === 'string'),
    provider_status: typeof code === 'number' ? code : undefined,
  });
}

/** Some models give their text as a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => objectOf(part))
    .map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : ''))
    .join('');
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0;
}
