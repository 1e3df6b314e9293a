import {
  type CallContext,
  isCodedError,
  MortiseError,
  type Principal,
  type Socket,
  type SocketHandler,
} from 'mortise/sdk';
import { wireError } from './errors.js';
import { errorFrame, responseFrame } from './frames.js';
import type { LiveSend } from './live-sends.js';
import type { CallingSocket, MethodCall, RealtimeDeps } from './method.js';
import { findMethod } from './methods/find-method.js';
import { Outbox } from './outbox.js';
import {
  authenticate,
  authMethod,
  newCorrelationId,
  type RpcRequest,
  readFrame,
  requestContext,
  unknownId,
} from './request.js';
import { wordFailure } from './word-failure.js';

const closeCodes = { shutdown: 1001, slowReader: 1013, auth: 4001 } as const;

const flushEveryMs = 20;
const watchLimit = 256;
/** Own turns that a socket remembers, so that their replies are not pushed to it again. */
const ownLimit = 256;
/** Bytes of a frame before the peer has authenticated. */
const authFrameLimit = 4_096;

/** One socket: reads frames, runs the requests concurrently, and writes their frames. */
export class Connection implements SocketHandler, CallingSocket {
  readonly #socket: Socket;
  readonly #ctx: CallContext;
  readonly #deps: RealtimeDeps;
  readonly #outbox: Outbox;
  readonly #onClose: () => void;
  /** By request id. */
  readonly #requests = new Map<string, AbortController>();
  readonly #sends = new Map<string, LiveSend>();
  readonly #watched = new Set<string>();
  readonly #own = new Set<string>();
  #principal: Principal;
  #state: 'unknown' | 'open' | 'closing' | 'closed';
  #authTimer: NodeJS.Timeout | undefined;
  #flushTimer: NodeJS.Timeout | undefined;
  #graceTimer: NodeJS.Timeout | undefined;
  #pinged = false;

  constructor(socket: Socket, ctx: CallContext, deps: RealtimeDeps, onClose: () => void) {
    this.#socket = socket;
    this.#ctx = ctx;
    this.#deps = deps;
    this.#onClose = onClose;
    this.#principal = ctx.principal;
    this.#outbox = new Outbox(socket, deps.now, () => this.#flushLater());
    this.#state = deps.http.keyed && !ctx.principal.authenticated ? 'unknown' : 'open';
    if (this.#state === 'open') return;
    const onTimeout = () => this.#refuseUnauthenticated('AUTH_TIMEOUT');
    this.#authTimer = setTimeout(onTimeout, deps.config.authSeconds * 1_000);
  }

  /** Requests whose last frame was not sent yet. */
  get inFlight(): number {
    return this.#requests.size;
  }

  message(frame: string | Uint8Array): void {
    if (this.#state === 'closing' || this.#state === 'closed') return;
    if (this.#state === 'unknown' && frame.length > authFrameLimit) {
      this.#refuseUnauthenticated('AUTH_REQUIRED');
      return;
    }
    const read = readFrame(frame);
    if (this.#state === 'unknown') {
      this.#authenticateFirst(read.ok ? read.request : undefined);
      return;
    }
    if (!read.ok) {
      this.#fail(read.id, read.error);
      return;
    }
    const { request } = read;
    if (request.method === authMethod) {
      this.#authenticate(request);
      return;
    }
    const refusal = this.#refusalOf(request);
    if (refusal) {
      this.#fail(request.id, refusal);
      return;
    }
    void this.#serve(request);
  }

  pong(): void {
    this.#pinged = false;
  }

  close(): void {
    this.#state = 'closed';
    clearTimeout(this.#authTimer);
    clearTimeout(this.#flushTimer);
    this.#outbox.close();
    for (const sessionKey of this.#watched) this.#deps.watchers.remove(sessionKey, this);
    this.#onClose();
    if (this.#requests.size === 0) return;
    const graceMs = this.#deps.config.disconnectGraceSeconds * 1_000;
    const end = () => this.#abort(new MortiseError('connection_lost', 'The connection was lost.', { status: 499 }));
    if (graceMs > 0 && !this.#ctx.signal.aborted) this.#graceTimer = setTimeout(end, graceMs);
    else end();
  }

  /** Pings the peer. A peer that did not answer the last ping is disconnected. */
  ping(): void {
    if (this.#state === 'closed') return;
    // A peer that does not read cannot answer either: checkReader() decides about it.
    if (this.#pinged && this.#socket.buffered === 0) {
      this.#socket.terminate();
      return;
    }
    this.#pinged = true;
    this.#socket.ping();
  }

  /** Closes the socket of a peer that has not read for too long. */
  checkReader(): void {
    const idle = this.#state === 'closing' || this.#state === 'closed';
    if (idle || this.#outbox.stalledFor() < this.#deps.config.slowReaderSeconds * 1_000) return;
    this.#close(closeCodes.slowReader, 'slow reader');
    this.#abort(new MortiseError('connection_lost', 'The reader is too slow.', { status: 499 }));
  }

  /** Closes the socket unless requests are in progress; it closes once they have ended. */
  drain(): void {
    if (this.#requests.size === 0 && this.#state !== 'closed') this.#close(closeCodes.shutdown, 'server shutdown');
  }

  /** Aborts the requests in progress. */
  endNow(): void {
    this.#abort(new MortiseError('server_shutdown', 'The server is shutting down.', { status: 503 }));
  }

  send(id: string, frame: object): void {
    this.#outbox.send(id, frame);
  }

  delta(id: string, text: string): void {
    this.#outbox.delta(id, text);
  }

  own(turnId: string): void {
    this.#own.add(turnId);
    const [oldest] = this.#own;
    if (this.#own.size > ownLimit && oldest !== undefined) this.#own.delete(oldest);
  }

  requested(turnId: string): boolean {
    return this.#own.has(turnId);
  }

  sending(requestId: string): LiveSend | undefined {
    return this.#sends.get(requestId);
  }

  begin(send: LiveSend): void {
    this.#sends.set(send.facts.requestId, send);
  }

  end(send: LiveSend): void {
    this.#sends.delete(send.facts.requestId);
  }

  watch(sessionKey: string): boolean {
    if (this.#state === 'closed' || (this.#watched.size >= watchLimit && !this.#watched.has(sessionKey))) return false;
    this.#watched.add(sessionKey);
    return true;
  }

  unwatch(sessionKey: string): void {
    this.#watched.delete(sessionKey);
  }

  #authenticateFirst(request: RpcRequest | undefined): void {
    if (request?.method !== authMethod) {
      this.#refuseUnauthenticated('AUTH_REQUIRED', request?.id);
      return;
    }
    this.#authenticate(request);
  }

  #authenticate(request: RpcRequest): void {
    try {
      // Without configured keys every key is accepted.
      if (this.#deps.http.keyed) this.#principal = authenticate(this.#socket, request);
    } catch (error) {
      const isWithoutKey = isCodedError(error) && error.code === 'INVALID_PARAMS';
      if (isWithoutKey && this.#state === 'open') this.#fail(request.id, error);
      else if (isWithoutKey) this.#refuseUnauthenticated('AUTH_REQUIRED', request.id);
      else this.#refuse(request.id, error);
      return;
    }
    clearTimeout(this.#authTimer);
    this.#state = 'open';
    this.send(request.id, responseFrame(request.id, { ok: true }));
  }

  /** Why a request may not start. */
  #refusalOf({ id, method }: RpcRequest): MortiseError | undefined {
    if (this.#deps.http.draining) return wireError('SERVER_SHUTTING_DOWN');
    if (this.#requests.has(id)) {
      return wireError('INVALID_PARAMS', 'Invalid params: id belongs to a request in progress');
    }
    const { maxInFlight } = this.#deps.config;
    // A socket at its limit must still be able to cancel.
    const isCancel = method === 'chat.cancel';
    if (this.#requests.size >= (isCancel ? maxInFlight * 2 : maxInFlight)) return wireError('RATE_LIMITED');
    const waitMs = isCancel ? 0 : this.#socket.admit(this.#principal);
    return waitMs > 0 ? wireError('RATE_LIMITED', undefined, { retry_after_ms: waitMs }) : undefined;
  }

  async #serve({ id, method, params }: RpcRequest): Promise<void> {
    const controller = new AbortController();
    this.#requests.set(id, controller);
    const ctx = requestContext(this.#ctx, id, this.#principal, controller.signal);
    const call: MethodCall = { id, controller, ctx, socket: this };
    try {
      const data = await findMethod(method)(params, call, this.#deps);
      if (data !== undefined) this.send(id, responseFrame(id, data));
    } catch (error) {
      this.#fail(id, error, ctx.correlationId);
    } finally {
      this.#requests.delete(id);
      if (this.#requests.size === 0) clearTimeout(this.#graceTimer);
      if (this.#deps.http.draining) this.drain();
    }
  }

  #fail(id: string, error: unknown, correlationId = newCorrelationId()): void {
    const failure = wordFailure(error);
    if (failure.code === 'INTERNAL_ERROR') {
      const fault = error instanceof Error ? { error: error.name, code: (error as { code?: unknown }).code } : {};
      this.#ctx.log.error({ correlation_id: correlationId, ...fault }, 'a request of a socket failed');
    }
    this.send(id, errorFrame(id, failure, correlationId));
  }

  /** The peer did not authenticate: audited, like a wrong key. */
  #refuseUnauthenticated(code: 'AUTH_REQUIRED' | 'AUTH_TIMEOUT', id = unknownId): void {
    this.#socket.unauthenticated();
    this.#refuse(id, wireError(code));
  }

  /** Sends the authentication error, and closes. */
  #refuse(id: string, error: unknown): void {
    this.#fail(id, error);
    this.#close(closeCodes.auth, 'authentication');
  }

  #close(code: number, reason: string): void {
    clearTimeout(this.#authTimer);
    this.#outbox.flush();
    this.#state = 'closing';
    this.#socket.close(code, reason);
  }

  #abort(reason: MortiseError): void {
    for (const controller of this.#requests.values()) controller.abort(reason);
  }

  #flushLater(): void {
    this.#flushTimer = setTimeout(() => {
      this.#outbox.flush();
      if (this.#outbox.holds) this.#flushLater();
    }, flushEveryMs);
  }
}
