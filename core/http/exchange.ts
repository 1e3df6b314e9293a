import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TraceContext } from '../sdk/context.js';
import { type CallOptions, MortiseError, type Principal, type RouteResponse } from '../sdk/index.js';
import { acceptRequestId, newCorrelationId } from '../telemetry/index.js';
import type { ClientAddress } from './caller.js';
import { addCorsHeaders } from './cors.js';
import { type Envelope, type Failure, toFailure } from './envelope.js';
import { defaultMount, type Mount } from './mounts.js';
import { announcesBody, noBody, type RequestBody } from './request-body.js';
import { type RequestTarget, readRequestTarget } from './request-target.js';
import { encodeBody, type ResponseHeaders, sendAndLinger, setResponseHeaders } from './response-body.js';
import { cutSlowReader, type SlowReaderRule, sendStream } from './response-stream.js';
import { type Match, unmatched } from './route-table.js';

/** A request of this process to its own server lists its enclosing calls here. From other callers it only lowers limits. */
export const callDepthHeader = 'mortise-call-depth';

/** Settings and services of the server. */
export interface ExchangeSettings {
  readonly listedOrigins: ReadonlySet<string>;
  /** Milliseconds; 0 = never. */
  readonly keepAliveMs: number;
  /** Milliseconds after which a client that reads nothing of its answer is disconnected. */
  readonly slowReaderMs: number;
  /** Milliseconds for sending a response other than an event stream; 0 = no limit. */
  readonly writeMs: number;
  /** The server is shutting down: connections end with this response. */
  draining(): boolean;
}

/** Discarding a body up to this size costs less than a new connection, bytes. */
const cheapToDiscard = 64 * 1024;

/** Time in which an aborted stream may still send its last events, milliseconds. */
export const lastWordsMs = 1_000;

const noMatch: Match = { kind: 'unknown', mount: defaultMount, pattern: unmatched };

/**
 * One request and its answer, from the first header to the last byte. Admission fills in the facts; all responses are
 * written here. A request is answered once; later attempts do nothing.
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly client: ClientAddress;
  readonly target: RequestTarget;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly requestId: string;
  readonly correlationId: string;
  match: Match = noMatch;
  mount: Mount = defaultMount;
  principal: Principal | undefined;
  trace: TraceContext | undefined;
  body: RequestBody = noBody;
  /** The handler's response. */
  answer: RouteResponse = {};
  /** Code of the error that was answered. */
  failedWith: string | undefined;
  /** Headers of the response, whatever its body will be. */
  readonly headers: ResponseHeaders;
  /** The body has been read, or is being read. */
  bodyTaken = false;
  /** The connection has become a WebSocket. */
  upgraded = false;
  readonly #settings: ExchangeSettings;
  readonly #controller = new AbortController();
  #begun = false;
  #streaming = false;
  #sse = false;
  /** The last event of a failed event stream, unless the stream sends its own. */
  #errorEvent: string | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    client: ClientAddress,
    now: number,
    settings: ExchangeSettings,
  ) {
    this.request = request;
    this.response = response;
    this.client = client;
    this.target = readRequestTarget(request.url ?? '/');
    this.startedAt = now;
    this.#settings = settings;
    const sentId = request.headers['x-request-id'];
    this.requestId = acceptRequestId(typeof sentId === 'string' ? sentId : undefined);
    this.correlationId = newCorrelationId();
    this.headers = { 'X-Correlation-ID': this.correlationId, 'X-Request-Id': this.requestId };
  }

  /** Aborted when the client has left or the server gives up. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The head of the response is sent. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Options of the leased call that serves the request; its time limit is the client's patience. */
  callOptions(): CallOptions {
    const { signal, principal, requestId, correlationId, trace } = this;
    const depth = readDepth(this.request.headers[callDepthHeader]);
    return { signal, timeoutMs: 0, principal, requestId, correlationId, trace, depth };
  }

  abort(reason: MortiseError): void {
    if (!this.#controller.signal.aborted) this.#controller.abort(reason);
  }

  /** The connection closed before the answer was complete. */
  leave(): void {
    this.failedWith ??= 'client_closed';
    this.abort(new MortiseError('client_closed', 'the client left', { status: 499 }));
  }

  /** Sends the answer. For a stream the promise resolves when it has ended; anything else is sent at once. */
  send(answer: RouteResponse): Promise<void> | undefined {
    if (this.#begun || this.response.destroyed) return answer.stream && discard(answer.stream);
    if (answer.stream) return this.#sendStream(answer, answer.stream);
    this.#sendBody(answer);
    return undefined;
  }

  /**
   * Answers with an error in an envelope, by default that of the mount. When the head is already sent, an event stream
   * ends with an error event, and anything else is disconnected.
   */
  fail(error: unknown, envelope = this.mount.envelope): Failure {
    const failure = toFailure(this.signal.aborted ? this.signal.reason : error);
    this.failedWith ??= failure.code;
    if (this.#begun) {
      this.#cutOff(failure, envelope);
      return failure;
    }
    if (this.response.destroyed) return failure;
    const headers: Record<string, string> = { 'Content-Type': 'application/json' };
    if (failure.retryAfterSeconds !== undefined) headers['Retry-After'] = String(Math.ceil(failure.retryAfterSeconds));
    if (failure.status === 401) headers['WWW-Authenticate'] = 'Bearer realm="mortise"';
    this.#sendBody({ status: failure.status, headers, body: envelope(failure, this) });
    return failure;
  }

  /** An error in the envelope of the mount, for a response that has begun. */
  errorBody(error: unknown): unknown {
    const failure = toFailure(this.signal.aborted ? this.signal.reason : error);
    this.failedWith ??= failure.code;
    return this.mount.envelope(failure, this);
  }

  #head(answer: RouteResponse): ResponseHeaders {
    const headers: ResponseHeaders = { ...this.headers, 'X-Content-Type-Options': 'nosniff' };
    addCorsHeaders(headers, this.mount.cors, this.request, this.#settings.listedOrigins);
    setResponseHeaders(headers, answer.headers);
    if (this.#settings.draining()) headers.Connection = 'close';
    return headers;
  }

  #sendBody(answer: RouteResponse): void {
    const headers = this.#head(answer);
    const status = statusOf(answer);
    // Throws for a body that cannot be written. Nothing is sent yet, so that can still be answered as an error.
    const body = encodeBody(answer.body, status, headers);
    const { request, response } = this;
    const leavesBody = this.#leavesBody();
    this.#begun = true;
    this.#limitWriting();
    if (leavesBody) {
      sendAndLinger(request, response, status, headers, request.method === 'HEAD' ? undefined : body);
      return;
    }
    response.writeHead(status, headers);
    if (request.method === 'HEAD' || body === undefined) response.end();
    else response.end(body);
    if (!response.writableFinished) cutSlowReader(response, this.#slowReader());
  }

  async #sendStream(answer: RouteResponse, stream: AsyncIterable<string | Uint8Array>): Promise<void> {
    const sse = answer.sse === true;
    const headers = this.#head(answer);
    const status = statusOf(answer);
    if (sse) {
      if (!/^text\/event-stream\b/i.test(String(headers['Content-Type'])))
        headers['Content-Type'] = 'text/event-stream';
      headers['Cache-Control'] ??= 'no-cache';
      headers['X-Accel-Buffering'] = 'no';
      headers.Connection ??= 'keep-alive';
    } else {
      headers['Content-Type'] ??= 'application/octet-stream';
    }
    const { request, response } = this;
    if (this.#leavesBody()) headers.Connection = 'close';
    this.#begun = true;
    if (!sse) this.#limitWriting();
    response.writeHead(status, headers);
    if (request.method === 'HEAD') {
      response.end();
      await discard(stream);
      return;
    }
    this.#streaming = true;
    this.#sse = sse;
    try {
      await sendStream(response, stream, {
        flushHead: sse,
        keepAliveMs: sse ? this.#settings.keepAliveMs : 0,
        keepAlive: answer.keepAlive ?? ': keep-alive\n\n',
        slowReader: this.#slowReader(),
      });
    } finally {
      this.#streaming = false;
      // An aborted stream threw instead of sending its reason.
      if (this.#errorEvent !== undefined && !response.writableEnded) this.cut();
    }
  }

  #slowReader(): SlowReaderRule {
    return {
      afterMs: this.#settings.slowReaderMs,
      onCut: () => {
        this.failedWith ??= 'slow_reader';
        this.abort(new MortiseError('slow_reader', 'the client stopped reading', { status: 499 }));
      },
    };
  }

  /** An unread body is arriving. Node discards a short one, and the connection stays open. */
  #leavesBody(): boolean {
    const announced = announcesBody(this.request);
    if (announced === 'none' || (this.bodyTaken && this.request.readableEnded)) return false;
    if (this.request.headers.expect !== undefined || announced === 'chunked') return true;
    return Number(this.request.headers['content-length']) > cheapToDiscard;
  }

  /** Ends the answer now: a failed event stream with its error event; anything else must not look complete. */
  cut(): void {
    const { response } = this;
    if (this.#errorEvent === undefined || response.writableEnded) {
      response.destroy();
      return;
    }
    response.end(this.#errorEvent);
    cutSlowReader(response, this.#slowReader());
  }

  /** A stream whose call was aborted may still send its own reason. An unexpected error is not shown to the client. */
  #cutOff(failure: Failure, envelope: Envelope): void {
    const { response } = this;
    if (response.writableEnded || response.destroyed) return;
    // The empty line ends an event that is incomplete.
    if (this.#sse && !failure.unexpected)
      this.#errorEvent = `\n\nevent: error\ndata: ${JSON.stringify(envelope(failure, this))}\n\n`;
    if (!this.#streaming) {
      if (this.#errorEvent === undefined) this.#breakOff();
      else this.cut();
      return;
    }
    const timer = setTimeout(() => this.cut(), lastWordsMs);
    response.once('close', () => clearTimeout(timer));
  }

  /** Closes the connection once the client has read what was written. */
  #breakOff(): void {
    const { response } = this;
    if (!response.socket) {
      response.destroy();
      return;
    }
    response.socket.destroySoon();
    cutSlowReader(response, this.#slowReader());
  }

  #limitWriting(): void {
    if (this.#settings.writeMs === 0) return;
    const timer = setTimeout(() => {
      this.failedWith = 'write_timeout';
      this.response.destroy();
    }, this.#settings.writeMs);
    this.response.once('close', () => clearTimeout(timer));
  }
}

/** @throws MortiseError for a status that no final response can have. */
function statusOf({ status = 200 }: RouteResponse): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new MortiseError(
    'route_mismatch',
    'A route answered with a status that is not a whole number from 200 to 599.',
  );
}

async function discard(stream: AsyncIterable<unknown>): Promise<void> {
  await stream[Symbol.asyncIterator]().return?.();
}

function readDepth(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,3}$/.test(header) ? Number(header) : undefined;
}
