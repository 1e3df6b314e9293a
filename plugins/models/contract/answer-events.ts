import { type GenerateEvent, isCodedError, isJsonObject, type JsonObject, readEventData } from 'mortise/sdk';
import { type OpenAnswer, readBody, readParts } from './answer-body.js';
import { providerError } from './provider-error.js';

/** Words in brackets that APIs send besides JSON, such as the end mark `[DONE]`. */
const remark = /^\[[\w -]*\]$/;

/** Characters of one event of a stream. */
const eventLimit = 8 * 1024 * 1024;

/**
 * The data of a streamed answer, each piece before anything more is read. Blank data is skipped.
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

/** The events of an answer, streamed or in one body. @throws provider_invalid_reply, provider_request_failed */
export async function* readAnswer(answer: OpenAnswer, reader: AnswerFormat): AsyncGenerator<GenerateEvent> {
  if (!answer.streams) {
    // An answer that is incomplete throws before any of it is passed on.
    const pieces = reader.body(parseObject(await readBody(answer)));
    yield* [...pieces, ...reader.end()];
    return;
  }
  for await (const data of readEvents(answer)) {
    if (!isRemark(data)) yield* reader.event(parseObject(data));
    if (reader.ended) break;
  }
  yield* reader.end();
}

export function isRemark(data: string): boolean {
  return remark.test(data);
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
