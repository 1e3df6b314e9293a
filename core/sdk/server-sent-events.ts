import { createParser } from 'eventsource-parser';
import { MortiseError } from './errors.js';

/**
 * The data of the server-sent events in a byte stream, each as soon as it is complete. An event without its final blank
 * line counts, because connections end without it.
 *
 * @param maxLength characters of one event
 * @throws MortiseError `event_too_long`, and what `parts` throws
 */
export async function* readEventData(parts: AsyncIterable<Uint8Array>, maxLength: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const waiting: string[] = [];
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: maxLength,
    onEvent: ({ data }) => waiting.push(data),
    onError: ({ type }) => {
      isTooLong ||= type === 'max-buffer-size-exceeded';
    },
  });
  const feed = (text: string): readonly string[] => {
    parser.feed(text);
    return waiting.splice(0);
  };
  for await (const part of parts) {
    yield* feed(decoder.decode(part, { stream: true }));
    if (isTooLong) throw new MortiseError('event_too_long', 'An event of the stream is too long.', { status: 502 });
  }
  yield* feed(`${decoder.decode()}\n\n`);
}
