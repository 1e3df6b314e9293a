import type { IncomingMessage, ServerResponse } from 'node:http';
import { MortiseError, type Principal, type RouteResponse, type TraceContext } from '../sdk/index.js';
import { acceptRequestId, newCorrelationId } from '../telemetry/index.js';
import type { ClientAddress } from './client-address.js';
import { addCorsHeaders } from './cors.js';
import { type EnvelopeName, envelopes } from './envelopes.js';
import { type Failure, toFailure } from './failure.js';
import type { Mount } from './mounts.js';
import { announcesBody } from './read-body.js';
import { encodeBody, type ResponseHeaders, setResponseHeaders } from './response-body.js';
import { sendStream } from './send-stream.js';
import { cutSlowReader, type SlowReaderRule } from './slow-reader.js';
import { sendAndLinger } from './unread-body.js';

/** What an exchange needs to know of its server. */
export interface ExchangeSettings {
  readonly listedOrigins: ReadonlySet<string>;
  /** Milliseconds; 0 = never. */
  readonly keepAliveMs: number;
  /** Milliseconds after which a client that takes nothing of its answer is cut off. */
  readonly slowReaderMs: number;
  /** Milliseconds for sending a response that is no event stream; 0 = no limit. */
  readonly writeMs: number;
  /** The server is shutting down: connections end with this response. */
  draining(): boolean;
}

/** A discarded body up to this size costs less than a new connection, bytes. */
const cheapToDiscard = 64 * 1024;

/** What is left to an aborted stream for its last words, milliseconds. */
export const lastWordsMs = 1_000;

/** One request and its answer, from the first header to the last byte. It is answered once; later attempts do nothing. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly requestId: string;
  readonly correlationId: string;
  readonly client: ClientAddress;
  mount: Mount;
  /** The declared path, once known: what logs, metrics and audit rows name. */
  pattern = '(unmatched)';
  principal: Principal | undefined;
  trace: TraceContext | undefined;
  /** Code of the error that was answered. */
  failedWith: string | undefined;
  /** Headers of the response whatever its body will be. */
  readonly headers: ResponseHeaders;
  bodyTaken = false;
  /** The connection speaks WebSocket from now on. */
  upgraded = false;
  readonly #settings: ExchangeSettings;
  readonly #controller = new AbortController();
  #begun = false;
  #streaming = false;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    client: ClientAddress,
    mount: Mount,
    now: number,
    settings: ExchangeSettings,
  ) {
    this.request = request;
    this.response = response;
    this.client = client;
    this.mount = mount;
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

  /** The head of the response is on its way. */
  get begun(): boolean {
    return this.#begun;
  }

  abort(reason: MortiseError): void {
    if (!this.#controller.signal.aborted) this.#controller.abort(reason);
  }

  /** The connection is gone before the answer was complete. */
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

  /** Answers with an error in the mount's envelope, or in `envelope`; cuts the connection when it is too late for that. */
  fail(error: unknown, envelope?: EnvelopeName): Failure {
    const failure = toFailure(this.signal.aborted ? this.signal.reason : error);
    this.failedWith ??= failure.code;
    if (this.#begun) {
      this.#cutOff();
      return failure;
    }
    if (this.response.destroyed) return failure;
    const headers: Record<string, string> = { 'Content-Type': 'application/json' };
    if (failure.retryAfterSeconds !== undefined) headers['Retry-After'] = String(Math.ceil(failure.retryAfterSeconds));
    if (failure.status === 401) headers['WWW-Authenticate'] = 'Bearer realm="mortise"';
    const body = envelopes[envelope ?? this.mount.envelope](failure, this);
    this.#sendBody({ status: failure.status, headers, body });
    return failure;
  }

  /** Head of the response, with what every response of the mount has. */
  head(answer: RouteResponse): ResponseHeaders {
    const headers: ResponseHeaders = { ...this.headers, 'X-Content-Type-Options': 'nosniff' };
    addCorsHeaders(headers, this.mount.cors, this.request, this.#settings.listedOrigins);
    setResponseHeaders(headers, answer.headers);
    if (this.#settings.draining()) headers.Connection = 'close';
    return headers;
  }

  #sendBody(answer: RouteResponse): void {
    const headers = this.head(answer);
    const status = statusOf(answer);
    // Throws for a body that cannot be written: nothing is sent yet, so that can still become an error.
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
    const headers = this.head(answer);
    const status = statusOf(answer);
    if (sse) {
      headers['Content-Type'] = 'text/event-stream';
      headers['Cache-Control'] = 'no-cache';
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
    try {
      await sendStream(response, stream, {
        keepAliveMs: sse ? this.#settings.keepAliveMs : 0,
        slowReader: this.#slowReader(),
      });
    } finally {
      this.#streaming = false;
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

  /** A body on its way that nobody reads. A short one is taken off the connection by Node, which then stays open. */
  #leavesBody(): boolean {
    const announced = announcesBody(this.request);
    if (announced === 'none' || (this.bodyTaken && this.request.readableEnded)) return false;
    if (this.request.headers.expect !== undefined || announced === 'chunked') return true;
    return Number(this.request.headers['content-length']) > cheapToDiscard;
  }

  /** A stream whose call was aborted may still say why; an answer that broke off by itself must not look complete. */
  #cutOff(): void {
    if (this.response.writableEnded) return;
    if (!this.#streaming) {
      this.#breakOff();
      return;
    }
    const timer = setTimeout(() => this.response.destroy(), lastWordsMs);
    this.response.once('close', () => clearTimeout(timer));
  }

  /** Ends the connection behind what was written last, at the pace of its reader. */
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

/** @throws MortiseError for a status that no answer can have: informational ones only announce one. */
function statusOf({ status = 200 }: RouteResponse): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new MortiseError('route_mismatch', 'A route answered with a status that is no whole number from 200 to 599.');
}

async function discard(stream: AsyncIterable<unknown>): Promise<void> {
  await stream[Symbol.asyncIterator]().return?.();
}
