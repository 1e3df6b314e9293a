import { createQueue, type MessageQueue } from './message-queue.js';
import { eventText } from './wire/sse.js';

/** Streams of clients without a session: they hear what concerns everyone, and nothing twice. */
export interface AnonymousStreams {
  open(): AsyncIterable<string>;
  announce(json: string): void;
  close(): void;
}

/** The oldest stream makes room for a new one. */
const mostStreams = 256;

export function createAnonymousStreams(): AnonymousStreams {
  const readers = new Set<MessageQueue>();
  return {
    open() {
      const queue = createQueue(() => readers.delete(queue));
      readers.add(queue);
      if (readers.size > mostStreams) readers.values().next().value?.end();
      return queue;
    },
    announce(json) {
      for (const reader of readers) reader.push(eventText(json));
    },
    close() {
      for (const reader of readers) reader.end();
    },
  };
}
