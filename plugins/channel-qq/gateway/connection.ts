import { type GuardedFetch, isJsonObject, type JsonObject, type OutboundSocket } from 'mortise/sdk';

/** Where a lost connection continues. */
export interface ResumePoint {
  readonly sessionId: string;
  /** Number of the last event that was stored. */
  readonly sequence: number;
}

interface ConnectionOptions {
  readonly url: URL;
  readonly token: string;
  readonly intents: number;
  /** Identifies again when undefined. */
  readonly resume: ResumePoint | undefined;
  /** Milliseconds for the connection, for hello, and for the answer to identify or resume. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The session is identified or resumed. */
  readonly ready: () => void;
  /** An event arrived. It counts as received once the promise is fulfilled; a rejection ends the connection. */
  readonly receive: (name: string, envelope: JsonObject) => Promise<void>;
  /** A malformed frame was ignored. */
  readonly malformed: () => void;
}

/** What the end of a connection means for the next one. */
type EndKind =
  /** The session can be resumed. */
  | 'lost'
  /** QQ asked for a new connection. */
  | 'reconnect'
  /** The session is unknown: identify again. */
  | 'invalid_session'
  /** QQ refuses the intents. */
  | 'intents_refused'
  /** QQ refuses the token. */
  | 'token_refused';

export interface ConnectionEnd {
  readonly kind: EndKind;
  /** One sentence for the state; without a token. */
  readonly reason: string;
  /** The connection was identified or resumed. */
  readonly wasReady: boolean;
  readonly resume: ResumePoint | undefined;
}

const op = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  reconnect: 7,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
} as const;

/** Close codes of QQ after which a resume is not possible. */
const endsByCode = new Map<number, EndKind>([
  [4004, 'token_refused'],
  [4006, 'invalid_session'],
  [4007, 'invalid_session'],
  [4013, 'intents_refused'],
  [4014, 'intents_refused'],
  ...Array.from({ length: 14 }, (_, index): [number, EndKind] => [4900 + index, 'invalid_session']),
]);

const minHeartbeatMs = 10;
const maxHeartbeatMs = 600_000;

/**
 * One websocket connection to QQ, from hello to its end.
 * @throws network_denied, or the error of a connection that could not be opened
 */
export async function runConnection(fetch: GuardedFetch, options: ConnectionOptions): Promise<ConnectionEnd> {
  const connection = new Connection(options);
  return connection.run(fetch);
}

class Connection {
  readonly #options: ConnectionOptions;
  #sessionId: string | undefined;
  #sequence: number | undefined;
  #wasReady = false;
  #beat: NodeJS.Timeout | undefined;
  #limit: NodeJS.Timeout | undefined;
  #awaitsAck = false;
  /** Events are stored one after the other. */
  #received: Promise<void> = Promise.resolve();
  #end: { readonly kind: EndKind; readonly reason: string } | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#sessionId = options.resume?.sessionId;
    this.#sequence = options.resume?.sequence;
  }

  async run(fetch: GuardedFetch): Promise<ConnectionEnd> {
    const { url, timeoutMs, signal } = this.#options;
    let socket: OutboundSocket | undefined;
    try {
      const code = await new Promise<number>((resolve, reject) => {
        const exchange = {
          signal,
          openMs: timeoutMs,
          linkLocal: 'refused' as const,
          message: (frame: string, from: OutboundSocket) => this.#message(frame, from),
          close: resolve,
        };
        fetch.socket(url, exchange).then((opened) => {
          socket = opened;
          if (!this.#beat) this.#expect('QQ sent no hello in time', opened);
        }, reject);
      });
      this.#end ??= { kind: endsByCode.get(code) ?? 'lost', reason: `QQ closed the connection with code ${code}` };
    } finally {
      clearTimeout(this.#limit);
      clearInterval(this.#beat);
      socket?.terminate();
      await this.#received;
    }
    const { kind, reason } = this.#end;
    const resumable = kind !== 'invalid_session' && kind !== 'intents_refused';
    const resume =
      resumable && this.#sessionId !== undefined && this.#sequence !== undefined
        ? { sessionId: this.#sessionId, sequence: this.#sequence }
        : undefined;
    return { kind, reason, wasReady: this.#wasReady, resume };
  }

  #message(frame: string, socket: OutboundSocket): void {
    const envelope = parse(frame);
    switch (envelope?.op) {
      case op.hello:
        this.#hello(envelope, socket);
        break;
      case op.heartbeatAck:
        this.#awaitsAck = false;
        break;
      case op.heartbeat:
        this.#sendBeat(socket);
        break;
      case op.reconnect:
        this.#finish(socket, 'reconnect', 'QQ asked for a new connection');
        break;
      case op.invalidSession:
        this.#finish(socket, 'invalid_session', 'QQ does not know the session');
        break;
      case op.dispatch:
        this.#received = this.#received.then(() => this.#dispatch(envelope, socket));
        break;
      default:
        this.#options.malformed();
    }
  }

  #hello({ d }: JsonObject, socket: OutboundSocket): void {
    const interval = isJsonObject(d) ? d.heartbeat_interval : undefined;
    if (this.#beat || typeof interval !== 'number' || !Number.isFinite(interval)) {
      this.#options.malformed();
      return;
    }
    this.#expect('QQ did not confirm the session in time', socket);
    const everyMs = Math.min(Math.max(interval, minHeartbeatMs), maxHeartbeatMs);
    this.#beat = setInterval(() => {
      if (this.#awaitsAck) {
        this.#finish(socket, 'lost', 'QQ did not acknowledge a heartbeat');
      } else {
        this.#awaitsAck = true;
        this.#sendBeat(socket);
      }
    }, everyMs);
    const { token, intents, resume } = this.#options;
    const own = `QQBot ${token}`;
    const frame = resume
      ? { op: op.resume, d: { token: own, session_id: resume.sessionId, seq: resume.sequence } }
      : { op: op.identify, d: { token: own, intents, shard: [0, 1] } };
    socket.send(JSON.stringify(frame));
  }

  async #dispatch(envelope: JsonObject, socket: OutboundSocket): Promise<void> {
    // QQ sends events after a failed one again once the session is resumed.
    if (this.#end) return;
    const { t: name, s: sequence, d } = envelope;
    try {
      if (name === 'READY') {
        const sessionId = isJsonObject(d) ? d.session_id : undefined;
        if (typeof sessionId === 'string' && sessionId !== '') this.#sessionId = sessionId;
        this.#confirmed();
      } else if (name === 'RESUMED') {
        this.#confirmed();
      } else if (typeof name === 'string') {
        await this.#options.receive(name, envelope);
      } else {
        this.#options.malformed();
      }
      if (typeof sequence === 'number' && Number.isSafeInteger(sequence)) this.#sequence = sequence;
    } catch {
      this.#finish(socket, 'lost', 'an event could not be stored');
    }
  }

  #confirmed(): void {
    clearTimeout(this.#limit);
    this.#wasReady = true;
    this.#options.ready();
  }

  #sendBeat(socket: OutboundSocket): void {
    socket.send(JSON.stringify({ op: op.heartbeat, d: this.#sequence ?? null }));
  }

  #expect(otherwise: string, socket: OutboundSocket): void {
    clearTimeout(this.#limit);
    this.#limit = setTimeout(() => this.#finish(socket, 'lost', otherwise), this.#options.timeoutMs);
  }

  #finish(socket: OutboundSocket, kind: EndKind, reason: string): void {
    this.#end ??= { kind, reason };
    socket.terminate();
  }
}

function parse(frame: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(frame);
    return isJsonObject(value) && typeof value.op === 'number' ? value : undefined;
  } catch {
    return undefined;
  }
}
