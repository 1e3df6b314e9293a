import type { RouteResponse } from 'mortise/sdk';
import { createQueue } from './message-queue.js';
import type { Outbound } from './method.js';
import type { Session } from './sessions/session.js';
import type { SessionStreams } from './sessions/session-streams.js';
import type { Accepted } from './wire/accept.js';
import { eventText } from './wire/sse.js';
import { hasPrimingEvent } from './wire/versions.js';

/** The answer to one `POST`. */
export interface Finished {
  readonly status: number;
  /** JSON; undefined for an answer without body. */
  readonly text: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export function jsonReply({ status, text, headers }: Finished): RouteResponse {
  if (text === undefined) return { status, headers: headers ?? {} };
  return { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body: text };
}

export interface ReplyOptions {
  readonly accept: Accepted;
  readonly version: string;
  /** Its streams are remembered, so that the client can come back to this one. */
  readonly session: Session | undefined;
  readonly streams: SessionStreams;
  /** Never rejects. `lasting` is true once a client that leaves may come back for the answer. */
  run(outbound: Outbound, lasting: () => boolean): Promise<Finished>;
}

/**
 * Answers with JSON, or with an event stream when something is to be said before the answer and the client reads
 * streams, or when it reads nothing else.
 */
export async function reply({ accept, version, session, streams, run }: ReplyOptions): Promise<RouteResponse> {
  if (!accept.stream) return jsonReply(await run(closed, () => false));
  const way = session ? sessionWay(session, streams, version) : singleWay();
  const { promise, resolve, reject } = Promise.withResolvers<Finished | 'opened'>();
  let opened = false;
  const outbound: Outbound = {
    open: true,
    send(json) {
      if (!opened) {
        opened = true;
        way.begin();
        resolve('opened');
      }
      way.send(json);
    },
  };
  const done = run(outbound, () => opened && session !== undefined);
  done.then(resolve, reject);
  const first = await promise;
  // An answer without anything before it: the client that reads JSON gets it, and a refusal keeps its status.
  if (first !== 'opened' && !opened && (accept.json || first.status !== 200 || first.text === undefined)) {
    return jsonReply(first);
  }
  if (!opened) way.begin();
  const headers = first === 'opened' ? undefined : first.headers;
  void done.then(({ text }) => {
    if (text !== undefined) way.send(text);
    way.end();
  });
  return { status: 200, sse: true, headers: { 'x-accel-buffering': 'no', ...headers }, stream: way.messages() };
}

const closed: Outbound = { open: false, send: () => {} };

interface Way {
  begin(): void;
  send(json: string): void;
  end(): void;
  messages(): AsyncIterable<string>;
}

function singleWay(): Way {
  const queue = createQueue();
  return {
    begin: () => {},
    send: (json) => void queue.push(eventText(json)),
    end: () => queue.end(),
    messages: () => queue,
  };
}

function sessionWay(session: Session, streams: SessionStreams, version: string): Way {
  let stream = '';
  return {
    begin() {
      stream = streams.begin(session.id);
      if (hasPrimingEvent(version)) streams.prime(session.id, stream);
    },
    send: (json) => streams.publish(session.id, stream, json),
    end: () => streams.finish(session.id, stream),
    messages: () => streams.read(session.id, stream),
  };
}
