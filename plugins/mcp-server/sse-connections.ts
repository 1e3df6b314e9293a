import { randomBytes } from 'node:crypto';
import { eventText } from './event-streams.js';
import { createQueue } from './message-queue.js';

/**
 * A client of the HTTP+SSE transport (revision 2024-11-05): one stream carries every message to it, and it posts its
 * own messages to an address that is bound to this stream.
 */
export interface SseConnection {
  readonly principal: string;
  /** Id of the session that the client opened; undefined before `initialize`, or while no session can be stored. */
  session: string | undefined;
  send(json: string): void;
  /** Starts a request; undefined when too many are running. Its signal aborts when the client cancels or leaves. */
  begin(idText: string | undefined): RunningRequest | undefined;
  /** Aborts the request with this id, if it is running. */
  cancel(idText: string): void;
}

export interface RunningRequest {
  readonly signal: AbortSignal;
  /** The client cancelled the request and expects no response. */
  readonly cancelled: boolean;
  end(): void;
}

export interface SseConnections {
  /**
   * Opens a connection, whose stream begins with its POST address; undefined when too many are open.
   * @param session id of the session that the client continues
   */
  open(principal: string, session: string | undefined, signal: AbortSignal): AsyncIterable<string> | undefined;
  /** The connection with this id; undefined when it has ended or belongs to another principal. */
  find(id: string, principal: string): SseConnection | undefined;
  all(): Iterable<SseConnection>;
  announce(json: string): void;
  /** Ends every connection as soon as its running requests are answered. */
  finish(last?: string): void;
  /** Aborts what is running and ends all connections. */
  close(): void;
}

const maxConnections = 1_000;
/** Running requests of one connection: its `POST`s are answered at once, so they do not limit each other. */
const maxRunning = 100;

const ownId = /^sse_[0-9a-f]{32}$/;

/** Whether a value has the form of an id that this endpoint issues. */
export function isConnectionId(value: string | null): value is string {
  return value !== null && ownId.test(value);
}

interface OpenConnection extends SseConnection {
  finish(last?: string): void;
  close(): void;
}

export function createSseConnections(): SseConnections {
  const connections = new Map<string, OpenConnection>();
  return {
    open(principal, session, signal) {
      if (connections.size >= maxConnections) return undefined;
      const id = `sse_${randomBytes(16).toString('hex')}`;
      const { connection, stream } = createConnection(id, principal, session, () => connections.delete(id));
      connections.set(id, connection);
      signal.addEventListener('abort', () => connection.close(), { once: true });
      return stream;
    },
    find(id, principal) {
      const connection = connections.get(id);
      return connection?.principal === principal ? connection : undefined;
    },
    all: () => connections.values(),
    announce(json) {
      for (const connection of connections.values()) connection.send(json);
    },
    finish(last) {
      for (const connection of connections.values()) connection.finish(last);
    },
    close() {
      for (const connection of connections.values()) connection.close();
    },
  };
}

function createConnection(id: string, principal: string, session: string | undefined, onClose: () => void) {
  const running = new Set<{ readonly idText: string | undefined; cancel(): void; abort(): void }>();
  let finishing = false;
  const abortAll = () => {
    for (const request of running) request.abort();
  };
  const queue = createQueue(() => {
    onClose();
    abortAll();
  });
  let lastText: string | undefined;
  const endWhenIdle = () => {
    if (!finishing || running.size > 0) return;
    if (lastText !== undefined) queue.push(lastText);
    queue.end();
  };
  const connection: OpenConnection = {
    principal,
    session,
    // The session's id is the event id: a client that reconnects names it in `Last-Event-ID` and continues the session.
    send: (json) => void queue.push(eventText(json, connection.session)),
    begin(idText) {
      if (running.size >= maxRunning) return undefined;
      const controller = new AbortController();
      let cancelled = false;
      const request = {
        idText,
        abort: () => controller.abort(),
        cancel() {
          cancelled = true;
          controller.abort();
        },
      };
      running.add(request);
      return {
        signal: controller.signal,
        get cancelled() {
          return cancelled;
        },
        end() {
          running.delete(request);
          endWhenIdle();
        },
      };
    },
    cancel(idText) {
      for (const request of running) if (request.idText === idText) request.cancel();
    },
    finish(last) {
      finishing = true;
      lastText ??= last;
      endWhenIdle();
    },
    close() {
      abortAll();
      connection.finish();
    },
  };
  const idLine = session === undefined ? '' : `id: ${session}\n`;
  queue.push(`${idLine}event: endpoint\ndata: /mcp?${addressParameter}=${id}\n\n`);
  return { connection, stream: queue };
}

/** Query parameter of a POST address. */
export const addressParameter = 'sessionId';
