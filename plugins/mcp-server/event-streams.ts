import { randomBytes } from 'node:crypto';
import { createQueue, type MessageQueue } from './message-queue.js';

/** What is stored for replay, per session and in all, and for how long. The newest event is stored whatever its size. */
const maxEvents = 1_000;
const maxSessionBytes = 8 * 1024 * 1024;
const maxTotalBytes = 128 * 1024 * 1024;
const replayMs = 300_000;

interface StoredEvent {
  readonly stream: string;
  readonly seq: number;
  readonly text: string;
  readonly bytes: number;
  readonly at: number;
}

interface SessionLog {
  /** Part of every event id, so that ids of another process or an earlier log do not match. */
  readonly epoch: string;
  readonly events: StoredEvent[];
  /** Of the stored events. */
  bytes: number;
  /** Last number used by each stream that has not ended. */
  readonly open: Map<string, number>;
  /** Readers of each stream; only the newest receives messages. */
  readonly readers: Map<string, MessageQueue[]>;
  usedAt: number;
}

/** Where a client continues to read. */
interface StreamPlace {
  readonly stream: string;
  readonly after: number;
  /** The stream has ended and no event follows. */
  readonly isEnd: boolean;
}

/** Event streams of sessions, with a replay buffer for clients whose connection broke. */
export interface SessionStreams {
  /** Opens a stream for the response to one request. */
  begin(session: string): string;
  /** Adds a message to a stream, whether or not it has a reader. */
  publish(session: string, stream: string, json: string): void;
  /** Adds an event without data, which gives the client an id to resume from. */
  prime(session: string, stream: string): void;
  /** Disconnects the readers of a stream that goes on. */
  release(session: string, stream: string): void;
  /** Ends a stream: no message follows. */
  finish(session: string, stream: string): void;
  /** Reads a stream from its beginning, or after an event. */
  read(session: string, stream: string, after?: number): AsyncIterable<string>;
  /** The stream and position of a `Last-Event-ID`; undefined when it is no longer stored. */
  place(session: string, eventId: string): StreamPlace | undefined;
  /** Sends a message to every session, on its `GET` stream. */
  announce(json: string): void;
  sessions(): readonly string[];
  drop(session: string): void;
  /** Ends the `GET` streams, which would never end by themselves; streams of responses continue. */
  endStanding(last?: string): void;
  /** Ends all streams. */
  close(): void;
  sweep(): void;
}

/** The stream that a client opens with `GET`. */
export const getStream = 'g';

export function createSessionStreams(now: () => number): SessionStreams {
  const logs = new Map<string, SessionLog>();
  let begun = 0;
  let totalBytes = 0;
  const dropOldest = (log: SessionLog) => {
    const bytes = log.events.shift()?.bytes ?? 0;
    log.bytes -= bytes;
    totalBytes -= bytes;
  };
  /** Drops the oldest events of the log that was added to, then those of the oldest sessions. */
  const limit = (log: SessionLog) => {
    while (log.events.length > 1 && (log.events.length > maxEvents || log.bytes > maxSessionBytes)) dropOldest(log);
    for (const other of logs.values()) {
      const least = other === log ? 1 : 0;
      while (totalBytes > maxTotalBytes && other.events.length > least) dropOldest(other);
      if (totalBytes <= maxTotalBytes) return;
    }
  };
  const logOf = (session: string): SessionLog => {
    let log = logs.get(session);
    if (!log) {
      const epoch = randomBytes(6).toString('hex');
      log = { epoch, events: [], bytes: 0, open: new Map(), readers: new Map(), usedAt: now() };
      logs.set(session, log);
    }
    log.usedAt = now();
    return log;
  };
  const add = (session: string, stream: string, textOf: (id: string) => string) => {
    const log = logOf(session);
    const seq = (log.open.get(stream) ?? 0) + 1;
    log.open.set(stream, seq);
    const text = textOf(`${log.epoch}-${stream}-${seq}`);
    const bytes = Buffer.byteLength(text);
    log.events.push({ stream, seq, text, bytes, at: now() });
    log.bytes += bytes;
    totalBytes += bytes;
    limit(log);
    log.readers.get(stream)?.at(-1)?.push(text);
  };
  const endReaders = (readers: readonly MessageQueue[] | undefined) => {
    for (const reader of readers ?? []) reader.end();
  };
  const streams: SessionStreams = {
    begin(session) {
      const stream = `p${++begun}`;
      logOf(session).open.set(stream, 0);
      return stream;
    },
    publish: (session, stream, json) => add(session, stream, (id) => eventText(json, id)),
    prime: (session, stream) => add(session, stream, primingText),
    release(session, stream) {
      const log = logOf(session);
      endReaders(log.readers.get(stream));
      log.readers.delete(stream);
    },
    finish(session, stream) {
      const log = logOf(session);
      log.open.delete(stream);
      endReaders(log.readers.get(stream));
      log.readers.delete(stream);
    },
    read(session, stream, after = 0) {
      const log = logOf(session);
      const queue = createQueue(() => {
        const remaining = (log.readers.get(stream) ?? []).filter((one) => one !== queue);
        if (remaining.length > 0) log.readers.set(stream, remaining);
        else log.readers.delete(stream);
      });
      for (const event of log.events) if (event.stream === stream && event.seq > after) queue.push(event.text);
      if (stream !== getStream && !log.open.has(stream)) queue.end();
      else log.readers.set(stream, [...(log.readers.get(stream) ?? []), queue]);
      return queue;
    },
    place(session, eventId) {
      const [, epoch, stream, seq] = /^([^-]+)-([^-]+)-(\d+)$/.exec(eventId) ?? [];
      const log = logs.get(session);
      if (log === undefined || epoch !== log.epoch || stream === undefined) return undefined;
      const events = log.events.filter((event) => event.stream === stream);
      const isOpen = log.open.has(stream);
      if (!isOpen && events.length === 0) return undefined;
      const after = Number(seq);
      const isEnd = !isOpen && stream !== getStream && !events.some((event) => event.seq > after);
      return { stream, after, isEnd };
    },
    announce(json) {
      for (const session of logs.keys()) streams.publish(session, getStream, json);
    },
    sessions: () => [...logs.keys()],
    drop(session) {
      const log = logs.get(session);
      if (!log) return;
      for (const readers of log.readers.values()) endReaders(readers);
      totalBytes -= log.bytes;
      logs.delete(session);
    },
    endStanding(last) {
      for (const log of logs.values()) {
        const readers = log.readers.get(getStream);
        if (last !== undefined) for (const reader of readers ?? []) reader.push(last);
        endReaders(readers);
      }
    },
    close() {
      for (const session of [...logs.keys()]) streams.drop(session);
    },
    sweep() {
      const oldest = now() - replayMs;
      for (const [session, log] of logs) {
        while (log.events[0] !== undefined && log.events[0].at <= oldest) dropOldest(log);
        const answering = [...log.open.keys()].some((stream) => stream !== getStream);
        const idle = log.readers.size === 0 && log.events.length === 0 && log.usedAt < oldest;
        if (idle && !answering) logs.delete(session);
      }
    },
  };
  return streams;
}

/** One JSON-RPC message as a server-sent event. JSON text contains no line break, so one `data` line is enough. */
export function eventText(json: string, id?: string): string {
  return id === undefined ? `event: message\ndata: ${json}\n\n` : `id: ${id}\nevent: message\ndata: ${json}\n\n`;
}

/** The last event of a stream that ends because the plugin is disabled: otherwise it would look like a lost connection. */
export const stoppingText = `event: error\ndata: ${JSON.stringify({
  code: 'plugin_stopping',
  reason: 'PLUGIN_STOPPING',
  message: 'The MCP endpoint is switched off.',
})}\n\n`;

/** Milliseconds after which a client may reconnect to a broken stream. */
const retryMs = 1_000;

function primingText(id: string): string {
  return `id: ${id}\nretry: ${retryMs}\ndata: \n\n`;
}
