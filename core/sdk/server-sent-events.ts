import { createParser } from 'eventsource-parser';
import type { Disposable } from './context.js';
import { MortiseError } from './errors.js';
import type { StartHost } from './plugin.js';

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

/** Maximum events queued for a slow reader; beyond it the oldest are dropped. */
const maxQueued = 1_000;

/** The text of one server-sent event. */
export function eventText(type: string, data: unknown): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/**
 * The text of a stream of events that are pushed as they happen. It ends when the reader disconnects, the server shuts down or
 * the plugin is drained, which waits for its streams. After events that a slow reader has missed comes `lost` with
 * their `count`.
 *
 * @param subscribe begins to push
 * @param render the text of an event, read when it is sent; undefined for one that this reader does not get
 */
export async function* followEvents<T>(
  host: Pick<StartHost, 'key' | 'on'>,
  gone: AbortSignal,
  subscribe: (push: (event: T) => void) => readonly Disposable[],
  render: (event: T) => string | undefined | Promise<string | undefined>,
): AsyncGenerator<string> {
  const waiting: T[] = [];
  let lost = 0;
  let isEnding = false;
  let wake: () => void = () => undefined;
  const end = (): void => {
    isEnding = true;
    wake();
  };
  const push = (event: T): void => {
    if (waiting.length >= maxQueued) {
      waiting.shift();
      lost += 1;
    }
    waiting.push(event);
    wake();
  };
  const onGone = (): void => wake();
  const listeners = [
    ...subscribe(push),
    host.on('shutdown', end),
    host.on('plugin-state', ({ key, to }) => {
      if (key === host.key && to === 'draining') end();
    }),
  ];
  gone.addEventListener('abort', onGone, { once: true });
  try {
    yield ': open\n\n';
    while (!gone.aborted) {
      if (lost > 0) {
        yield eventText('lost', { count: lost });
        lost = 0;
      }
      const next = waiting.shift();
      if (next !== undefined) {
        const text = await render(next);
        if (text !== undefined) yield text;
        continue;
      }
      if (isEnding) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (waiting.length > 0 || gone.aborted || isEnding) resolve();
      });
    }
  } finally {
    gone.removeEventListener('abort', onGone);
    for (const listener of listeners) await listener.dispose();
  }
}
