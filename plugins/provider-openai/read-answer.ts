import { createParser } from 'eventsource-parser';
import { type GenerateEvent, isCodedError } from 'mortise/sdk';
import { AnswerReader, parseObject } from './answer-reader.js';
import { providerError } from './errors.js';
import type { OpenAnswer } from './open-answer.js';
import { networkCode } from './read-failure.js';

const endMark = '[DONE]';

/** Words in brackets that some APIs send besides the end mark. */
const remark = /^\[[\w -]*\]$/;

/** Characters of one event of a stream. */
const eventLimit = 8 * 1024 * 1024;
/** Bytes of an answer that is not streamed. */
const bodyLimit = 32 * 1024 * 1024;

/**
 * The events of a streamed answer: each text is passed on before anything more is read. The SDK's own stream reader does
 * not report whether the end mark came, so an incomplete answer would look complete.
 *
 * @throws provider_invalid_reply, provider_request_failed
 */
export async function* readStream(answer: OpenAnswer): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader();
  const decoder = new TextDecoder();
  const waiting: string[] = [];
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: eventLimit,
    onEvent: ({ data }) => waiting.push(data.trim()),
    onError: ({ type }) => {
      isTooLong ||= type === 'max-buffer-size-exceeded';
    },
  });
  let ended = false;
  const texts = function* (chunk: string): Generator<string> {
    parser.feed(chunk);
    for (const data of waiting.splice(0)) {
      ended = data === endMark;
      if (ended) return;
      const text = data === '' || remark.test(data) ? '' : reader.chunk(parseObject(data));
      if (text !== '') yield text;
    }
    if (isTooLong) throw providerError('provider_invalid_reply', 'provider response has too long a line');
  };
  for await (const part of readParts(answer)) {
    for (const text of texts(decoder.decode(part, { stream: true }))) yield { type: 'content_delta', text };
    if (ended) break;
  }
  // A connection may end without the blank line after its last event.
  if (!ended) for (const text of texts(`${decoder.decode()}\n\n`)) yield { type: 'content_delta', text };
  for (const event of reader.end(ended)) yield event;
}

/** The events of an answer in one body. @throws provider_invalid_reply, provider_request_failed */
export async function* readWhole(answer: OpenAnswer): AsyncGenerator<GenerateEvent> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of readParts(answer)) {
    length += part.length;
    if (length > bodyLimit) throw providerError('provider_invalid_reply', 'provider response is too large');
    parts.push(part);
  }
  const reader = new AnswerReader();
  const text = reader.body(parseObject(Buffer.concat(parts).toString('utf8')));
  const ending = reader.end(true);
  if (text !== '') yield { type: 'content_delta', text };
  yield* ending;
}

/**
 * The bytes of an answer as they arrive. Returning early closes the connection.
 * @throws provider_request_failed when the connection breaks, or is silent for too long
 */
async function* readParts({ first, reader }: OpenAnswer): AsyncGenerator<Uint8Array> {
  if (reader === undefined) return;
  try {
    for (let part = first; part !== undefined; part = await reader.read().catch(broken)) yield part;
  } finally {
    await reader.close();
  }
}

function broken(error: unknown): never {
  if (isCodedError(error)) throw error;
  throw providerError('provider_request_failed', undefined, { cause: networkCode(error) });
}
