import type { GenerateEvent } from 'mortise/sdk';
import type { OpenAnswer } from '../upstream/open-answer.js';
import { readParts } from '../upstream/read-parts.js';
import { AnswerReader } from './answer-reader.js';
import { EventSplitter } from './event-splitter.js';
import { parseObject } from './json.js';

const endMark = '[DONE]';

/** Words in brackets that some adapters send beside the end mark. */
const remark = /^\[[\w -]*\]$/;

/**
 * The events of a streamed answer: each text is passed on before anything more is read. The SDK's own reader of streams
 * does not tell whether the end mark came, and an answer that was cut off must not pass for a complete one.
 */
export async function* readStream(answer: OpenAnswer): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader();
  const splitter = new EventSplitter();
  let ended = false;
  const texts = function* (events: Iterable<string>): Generator<string> {
    for (const data of events) {
      ended = data === endMark;
      if (ended) return;
      const text = data === '' || remark.test(data) ? '' : reader.chunk(parseObject(data));
      if (text !== '') yield text;
    }
  };
  for await (const part of readParts(answer)) {
    for (const text of texts(splitter.read(part))) yield { type: 'content_delta', text };
    if (ended) break;
  }
  if (!ended) for (const text of texts(splitter.end())) yield { type: 'content_delta', text };
  for (const event of reader.end(ended)) yield event;
}
