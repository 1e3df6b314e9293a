import { isRemark, type OpenAnswer, parseObject, readBody, readEvents } from 'mortise/contracts/models';
import type { GenerateEvent } from 'mortise/sdk';
import { AnswerReader } from './answer-reader.js';

const endMark = '[DONE]';

/**
 * The events of a streamed answer. The SDK's own stream reader does not report whether the end mark came, so an incomplete
 * answer would look complete.
 *
 * @throws provider_invalid_reply, provider_request_failed
 */
export async function* readStream(answer: OpenAnswer): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader();
  let ended = false;
  for await (const data of readEvents(answer)) {
    ended = data === endMark;
    if (ended) break;
    if (!isRemark(data)) yield* reader.chunk(parseObject(data));
  }
  yield* reader.end(ended);
}

/** The events of an answer in one body. @throws provider_invalid_reply, provider_request_failed */
export async function* readWhole(answer: OpenAnswer): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader();
  const pieces = reader.body(parseObject(await readBody(answer)));
  const ending = reader.end(true);
  yield* pieces;
  yield* ending;
}
