import { randomBytes } from 'node:crypto';
import { createQueue, type MessageQueue } from '../message-queue.js';
import { eventText, primingText } from '../wire/sse.js';

/** Events kept for a session that comes back, and for how long. */
const mostEvents = 1_000;
const keptMs = 300_000;

interface StoredEvent {
  readonly stream: string;
  readonly seq: number;
  readonly text: string;
  readonly at: number;
}

interface SessionLog {
  /** Part of every event id: one of another process or an earlier log is not mistaken for ours. */
  readonly epoch: string;
  events: StoredEvent[];
  /** Next number of each stream that is not over. */
  readonly open: Map<string, number>;
  /** Readers of each stream; the one that came last is served. */
  readonly readers: Map<string, MessageQueue[]>;
  usedAt: number;
}

/** Event streams of sessions, with a short memory so that a client whose connection broke misses nothing. */
export interface SessionStreams {
  /** A stream for the answer to one request. */
  begin(session: string): string;
  /** Adds a message to a stream, whether or not somebody reads it now. */
  publish(session: string, stream: string, json: string): void;
  prime(session: string, stream: string): void;
  /** No message follows. */
  finish(session: string, stream: string): void;
  /** Reads a stream from its beginning, or after an event. */
  read(session: string, stream: string, after?: number): AsyncIterable<string>;
  /** The stream and place that a `Last-Event-ID` names; undefined when it is not remembered. */
  place(session: string, eventId: string): { readonly stream: string; readonly after: number } | undefined;
  /** Tells every session that listens on its standing stream. */
  announce(json: string, toWhom?: (session: string) => boolean): void;
  sessions(): readonly string[];
  drop(session: string): void;
  /** Ends all streams. */
  close(): void;
  sweep(): void;
}

/** The stream a client opens with `GET`. */
export const standingStream = 'g';

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
    if (log.events.length > mostEvents) log.events.shift();
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
        const left = (log.readers.get(stream) ?? []).filter((one) => one !== queue);
        if (left.length > 0) log.readers.set(stream, left);
        else log.readers.delete(stream);
      });
      for (const event of log.events) if (event.stream === stream && event.seq > after) queue.push(event.text);
      if (stream !== standingStream && !log.open.has(stream)) queue.end();
      else log.readers.set(stream, [...(log.readers.get(stream) ?? []), queue]);
      return queue;
    },
    place(session, eventId) {
      const [, of, stream, seq] = /^([^-]+)-([^-]+)-(\d+)$/.exec(eventId) ?? [];
      const log = logs.get(session);
      if (log === undefined || of !== log.epoch || stream === undefined) return undefined;
      const known = log.open.has(stream) || log.events.some((event) => event.stream === stream);
      return known ? { stream, after: Number(seq) } : undefined;
    },
    announce(json, toWhom = () => true) {
      for (const session of logs.keys()) {
        if (toWhom(session)) streams.publish(session, standingStream, json);
      }
    },
    sessions: () => [...logs.keys()],
    drop(session) {
      for (const readers of logs.get(session)?.readers.values() ?? []) endReaders(readers);
      logs.delete(session);
    },
    close() {
      for (const session of [...logs.keys()]) streams.drop(session);
    },
    sweep() {
      const oldest = now() - keptMs;
      for (const [session, log] of logs) {
        log.events = log.events.filter((event) => event.at > oldest);
        const answering = [...log.open.keys()].some((stream) => stream !== standingStream);
        const idle = log.readers.size === 0 && log.events.length === 0 && log.usedAt < oldest;
        if (idle && !answering) logs.delete(session);
      }
    },
  };
  return streams;
}
