import { randomBytes } from 'node:crypto';
import { createQueue, type MessageQueue } from './message-queue.js';

/** Events stored per session for replay, and for how long. */
const maxEvents = 1_000;
const replayMs = 300_000;

interface StoredEvent {
  readonly stream: string;
  readonly seq: number;
  readonly text: string;
  readonly at: number;
}

interface SessionLog {
  /** Part of every event id, so that ids of another process or an earlier log do not match. */
  readonly epoch: string;
  events: StoredEvent[];
  /** Last number used by each stream that has not ended. */
  readonly open: Map<string, number>;
  /** Readers of each stream; only the newest receives messages. */
  readonly readers: Map<string, MessageQueue[]>;
  usedAt: number;
}

/** Event streams of sessions, with a replay buffer for clients whose connection broke. */
export interface SessionStreams {
  /** Opens a stream for the response to one request. */
  begin(session: string): string;
  /** Adds a message to a stream, whether or not it has a reader. */
  publish(session: string, stream: string, json: string): void;
  /** Adds an event without data, which gives the client an id to resume from. */
  prime(session: string, stream: string): void;
  /** Ends a stream: no message follows. */
  finish(session: string, stream: string): void;
  /** Reads a stream from its beginning, or after an event. */
  read(session: string, stream: string, after?: number): AsyncIterable<string>;
  /** The stream and position of a `Last-Event-ID`; undefined when it is no longer stored. */
  place(session: string, eventId: string): { readonly stream: string; readonly after: number } | undefined;
  /** Sends a message to every session, on its `GET` stream. */
  announce(json: string): void;
  sessions(): readonly string[];
  drop(session: string): void;
  /** Ends the `GET` streams, which would never end by themselves; streams of responses continue. */
  endStanding(): void;
  /** Ends all streams. */
  close(): void;
  sweep(): void;
}

/** The stream that a client opens with `GET`. */
export const getStream = 'g';

export function createSessionStreams(now: () => number): SessionStreams {
  const logs = new Map<string, SessionLog>();
  let begun = 0;
  const logOf = (session: string): SessionLog => {
    let log = logs.get(session);
    if (!log) {
      log = { epoch: randomBytes(6).toString('hex'), events: [], open: new Map(), readers: new Map(), usedAt: now() };
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
    log.events.push({ stream, seq, text, at: now() });
    if (log.events.length > maxEvents) log.events.shift();
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
      const known = log.open.has(stream) || log.events.some((event) => event.stream === stream);
      return known ? { stream, after: Number(seq) } : undefined;
    },
    announce(json) {
      for (const session of logs.keys()) streams.publish(session, getStream, json);
    },
    sessions: () => [...logs.keys()],
    drop(session) {
      for (const readers of logs.get(session)?.readers.values() ?? []) endReaders(readers);
      logs.delete(session);
    },
    endStanding() {
      for (const log of logs.values()) endReaders(log.readers.get(getStream));
    },
    close() {
      for (const session of [...logs.keys()]) streams.drop(session);
    },
    sweep() {
      const oldest = now() - replayMs;
      for (const [session, log] of logs) {
        log.events = log.events.filter((event) => event.at > oldest);
        const answering = [...log.open.keys()].some((stream) => stream !== getStream);
        const idle = log.readers.size === 0 && log.events.length === 0 && log.usedAt < oldest;
        if (idle && !answering) logs.delete(session);
      }
    },
  };
  return streams;
}

/** `GET` streams of clients without a session: they receive list changes, without replay. */
export interface AnonymousStreams {
  open(): AsyncIterable<string>;
  announce(json: string): void;
  close(): void;
}

/** Beyond this number, a new stream ends the oldest one. */
const maxAnonymous = 256;

export function createAnonymousStreams(): AnonymousStreams {
  const readers = new Set<MessageQueue>();
  return {
    open() {
      const queue = createQueue(() => readers.delete(queue));
      readers.add(queue);
      if (readers.size > maxAnonymous) readers.values().next().value?.end();
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

/** One JSON-RPC message as a server-sent event. JSON text contains no line break, so one `data` line is enough. */
export function eventText(json: string, id?: string): string {
  return id === undefined ? `event: message\ndata: ${json}\n\n` : `id: ${id}\nevent: message\ndata: ${json}\n\n`;
}

/** Milliseconds after which a client may reconnect to a broken stream. */
const retryMs = 1_000;

function primingText(id: string): string {
  return `id: ${id}\nretry: ${retryMs}\ndata: \n\n`;
}
