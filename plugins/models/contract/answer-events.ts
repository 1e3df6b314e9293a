import {
  type GenerateEvent,
  isCodedError,
  isJsonObject,
  type JsonObject,
  type ModelMessage,
  type ModelToolCall,
  readEventData,
} from 'mortise/sdk';
import { type OpenAnswer, readBody, readParts } from './answer-body.js';
import { providerError } from './provider-error.js';

/** Words in brackets that APIs send besides JSON, such as the end mark `[DONE]`. */
const marker = /^\[[\w -]*\]$/;

/** Maximum characters of one event of a stream. */
const eventLimit = 8 * 1024 * 1024;

/**
 * The data of a streamed answer. Each piece is yielded before more is read. Blank data is skipped.
 * @throws provider_invalid_reply, provider_request_failed
 */
export async function* readEvents(answer: OpenAnswer): AsyncGenerator<string> {
  try {
    for await (const data of readEventData(readParts(answer), eventLimit)) {
      const text = data.trim();
      if (text !== '') yield text;
    }
  } catch (error) {
    if (!isCodedError(error) || error.code !== 'event_too_long') throw error;
    throw providerError('provider_invalid_reply', 'provider response has too long a line');
  }
}

/** Turns one answer of an API into events. Each function throws `provider_invalid_reply` or what the answer reports. */
export interface AnswerFormat {
  /** Whether the last event of a stream was read. */
  readonly ended: boolean;
  event(event: JsonObject): readonly GenerateEvent[];
  /** An answer in one body. */
  body(body: JsonObject): readonly GenerateEvent[];
  end(): readonly GenerateEvent[];
}

/** The text of a message without its attachments. */
export function textOfMessage({ content }: Pick<ModelMessage, 'content'>): string {
  if (typeof content === 'string') return content;
  return content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n');
}

/** Missing and duplicate ids of tool calls become `call_<n>`, counted from 1, without numbers in use. */
export function uniqueIds(ids: readonly string[]): readonly string[] {
  const taken = new Set(ids);
  const used = new Set<string>();
  let number = 0;
  return ids.map((id) => {
    let own = id;
    if (own === '' || used.has(own)) {
      do own = `call_${++number}`;
      while (taken.has(own));
    }
    used.add(own);
    return own;
  });
}

/** The counts of an API, which may be missing or wrong; undefined without those of input and output. */
export function usageEvent(counts: {
  /** Cached tokens among them. */
  readonly input: unknown;
  readonly output: unknown;
  readonly cached: unknown;
  readonly reasoning: unknown;
}): Extract<GenerateEvent, { type: 'usage' }> | undefined {
  const { input, output, cached, reasoning } = counts;
  if (!isCount(input) || !isCount(output)) return undefined;
  return {
    type: 'usage',
    inputTokens: input,
    outputTokens: output,
    ...(isCount(cached) && cached > 0 ? { cachedInputTokens: cached } : {}),
    ...(isCount(reasoning) && reasoning > 0 ? { reasoningTokens: reasoning } : {}),
  };
}

/** What is known of an answer at its end. */
interface AnswerEnd extends Omit<Extract<GenerateEvent, { readonly type: 'done' }>, 'type'> {
  readonly hasText: boolean;
  readonly toolCalls: readonly ModelToolCall[];
  readonly usage: GenerateEvent | undefined;
}

/** The last events of an answer. @throws provider_invalid_reply for one that has nothing, or a tool call without a name */
export function lastEvents({ hasText, toolCalls, usage, ...done }: AnswerEnd): readonly GenerateEvent[] {
  if (toolCalls.some(({ name }) => name === '')) {
    throw providerError('provider_invalid_reply', 'provider response has a tool call without a name');
  }
  if (!hasText && toolCalls.length === 0) {
    throw providerError('provider_invalid_reply', 'provider response has empty content');
  }
  return [
    ...(toolCalls.length > 0 ? [{ type: 'tool_calls_complete' as const, toolCalls }] : []),
    ...(usage ? [usage] : []),
    { type: 'done', ...done },
  ];
}

/** The events of an answer, streamed or in one body. @throws provider_invalid_reply, provider_request_failed */
export async function* readAnswer(answer: OpenAnswer, reader: AnswerFormat): AsyncGenerator<GenerateEvent> {
  if (!answer.streams) {
    // An incomplete answer throws before any of it is passed on.
    const pieces = reader.body(parseObject(await readBody(answer)));
    yield* [...pieces, ...reader.end()];
    return;
  }
  for await (const data of readEvents(answer)) {
    if (!isMarker(data)) yield* reader.event(parseObject(data));
    if (reader.ended) break;
  }
  yield* reader.end();
}

export function isMarker(data: string): boolean {
  return marker.test(data);
}

/** @throws provider_invalid_reply unless the text is a JSON object */
export function parseObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw providerError('provider_invalid_reply');
  }
  if (!isJsonObject(value)) throw providerError('provider_invalid_reply');
  return value;
}

/** The value as an object; an empty one for anything else. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0;
}
