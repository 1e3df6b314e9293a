import type { GenerateEvent } from 'mortise/sdk';
import { providerError } from '../errors.js';
import type { OpenAnswer } from '../upstream/open-answer.js';
import { readParts } from '../upstream/read-parts.js';
import { AnswerReader } from './answer-reader.js';
import { parseObject } from './json.js';

/** Bytes of an answer that is not streamed. */
const bodyLimit = 32 * 1024 * 1024;

/** The events of an answer that came in one body. @throws provider_invalid_reply, provider_request_failed */
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
