import { createParser } from 'eventsource-parser';
import { type OpenAnswer, providerError, readBody, readParts } from 'mortise/contracts/models';
import type { GenerateEvent } from 'mortise/sdk';
import { AnswerReader, parseObject } from './answer-reader.js';

const endMark = '[DONE]';

/** Words in brackets that some APIs send besides the end mark. */
const remark = /^\[[\w -]*\]$/;

/** Characters of one event of a stream. */
const eventLimit = 8 * 1024 * 1024;

/**
 * The events of a streamed answer: each piece is passed on before anything more is read. The SDK's own stream reader does
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
  const pieces = function* (chunk: string): Generator<GenerateEvent> {
    parser.feed(chunk);
    for (const data of waiting.splice(0)) {
      ended = data === endMark;
      if (ended) return;
      if (data !== '' && !remark.test(data)) yield* reader.chunk(parseObject(data));
    }
    if (isTooLong) throw providerError('provider_invalid_reply', 'provider response has too long a line');
  };
  for await (const part of readParts(answer)) {
    yield* pieces(decoder.decode(part, { stream: true }));
    if (ended) break;
  }
  // A connection may end without the blank line after its last event.
  if (!ended) yield* pieces(`${decoder.decode()}\n\n`);
  for (const event of reader.end(ended)) yield event;
}

/** The events of an answer in one body. @throws provider_invalid_reply, provider_request_failed */
export async function* readWhole(answer: OpenAnswer): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader();
  const pieces = reader.body(parseObject(await readBody(answer)));
  const ending = reader.end(true);
  yield* pieces;
  yield* ending;
}
