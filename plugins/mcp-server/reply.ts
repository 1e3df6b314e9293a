import type { RouteResponse } from 'mortise/sdk';
import { eventText, type SessionStreams } from './event-streams.js';
import { createQueue } from './message-queue.js';
import type { Outbound } from './method.js';
import { type HttpReply, jsonReply } from './responses.js';
import type { Session } from './sessions/session.js';
import { hasPrimingEvent } from './wire/protocol.js';

/** The formats a client accepts. */
export interface Accepted {
  readonly json: boolean;
  /** Accepted by name: a wildcard alone, which every plain client sends, means JSON. */
  readonly stream: boolean;
}

/** Reads an `Accept` header; absent or empty means JSON, and a range with `q=0` is refused. */
export function accepted(value: string | undefined): Accepted {
  if (value === undefined || value.trim() === '') return { json: true, stream: false };
  let json = false;
  let stream = false;
  for (const part of value.split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    if (parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))) continue;
    if (range === '*/*' || range === 'application/*' || range === 'application/json') json = true;
    if (range === 'text/event-stream' || range === 'text/*') stream = true;
  }
  return { json, stream };
}

interface ReplyOptions {
  readonly accept: Accepted;
  readonly version: string;
  /** The client of a session can resume the stream. */
  readonly session: Session | undefined;
  readonly streams: SessionStreams;
  /** Never rejects. `resumable` returns true once a client that disconnects may come back for the response. */
  run(outbound: Outbound, resumable: () => boolean): Promise<HttpReply>;
}

/**
 * Replies with JSON, or with an event stream when messages precede the response and the client accepts streams, or
 * when it accepts nothing else.
 */
export async function reply({ accept, version, session, streams, run }: ReplyOptions): Promise<RouteResponse> {
  if (!accept.stream) return jsonReply(await run(closed, () => false));
  const stream = session ? sessionStream(session, streams, version) : singleStream();
  const { promise, resolve, reject } = Promise.withResolvers<HttpReply | 'opened'>();
  let opened = false;
  const open = () => {
    if (opened) return;
    opened = true;
    stream.begin();
    resolve('opened');
  };
  const { release } = stream;
  const outbound: Outbound = {
    open: true,
    send(json) {
      open();
      stream.send(json);
    },
    release:
      release &&
      (() => {
        open();
        release();
      }),
  };
  const done = run(outbound, () => opened && session !== undefined);
  done.then(resolve, reject);
  const first = await promise;
  // Without earlier messages, a client that accepts JSON gets JSON, and a refusal keeps its status.
  if (first !== 'opened' && !opened && (accept.json || first.status !== 200 || first.text === undefined)) {
    return jsonReply(first);
  }
  if (!opened) stream.begin();
  const headers = first === 'opened' ? undefined : first.headers;
  void done.then(({ text }) => {
    if (text !== undefined) stream.send(text);
    stream.end();
  });
  return { status: 200, sse: true, headers: { 'x-accel-buffering': 'no', ...headers }, stream: stream.messages() };
}

const closed: Outbound = { open: false, send: () => {} };

interface ResponseStream {
  begin(): void;
  send(json: string): void;
  /** Present when the stream has an event from which its client can resume. */
  readonly release?: (() => void) | undefined;
  end(): void;
  messages(): AsyncIterable<string>;
}

function singleStream(): ResponseStream {
  const queue = createQueue();
  return {
    begin: () => {},
    send: (json) => void queue.push(eventText(json)),
    end: () => queue.end(),
    messages: () => queue,
  };
}

function sessionStream(session: Session, streams: SessionStreams, version: string): ResponseStream {
  let stream = '';
  let released = false;
  const release = () => {
    released = true;
    streams.release(session.id, stream);
  };
  return {
    release: hasPrimingEvent(version) ? release : undefined,
    begin() {
      stream = streams.begin(session.id);
      if (hasPrimingEvent(version)) streams.prime(session.id, stream);
    },
    send: (json) => streams.publish(session.id, stream, json),
    end: () => streams.finish(session.id, stream),
    messages() {
      const messages = streams.read(session.id, stream);
      if (released) streams.release(session.id, stream);
      return messages;
    },
  };
}
