import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse as Response } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  type CallContext,
  MortiseError,
  type Principal,
  type Refusal,
  type RouteResponse,
  type SocketAuthentication,
  type UpgradeRoute,
} from '../sdk/index.js';
import { type Admission, refusalSubject, takeToken } from './admission.js';
import { AuthFailures } from './auth-failures.js';
import type { Dispatcher, DispatcherParts, Served } from './dispatcher.js';
import type { Exchange } from './exchange.js';
import { ServerResponse } from './node-http.js';
import { announcesBody } from './read-body.js';
import { RefusedRequest } from './refusal-rows.js';
import type { RequestTarget } from './request-target.js';
import { PluginRequest, plainHeaders } from './route-request.js';
import { attachSocket } from './socket.js';

export interface UpgradeParts extends Pick<DispatcherParts, 'inFlight' | 'log' | 'emitRefusal'> {
  readonly dispatcher: Dispatcher;
  readonly admission: Admission;
}

/** The socket of an upgrade request: Node hands out a plain stream, the server's connections are TCP sockets. */
type UpgradeSocket = Parameters<Response['assignSocket']>[0];

/**
 * Accepts WebSockets. Until a socket is accepted the request is an ordinary one, with an ordinary answer to a refusal.
 */
export class Upgrades {
  readonly #parts: UpgradeParts;
  readonly #failures = new AuthFailures();
  /** One acceptor per frame limit: the limit belongs to it. */
  readonly #acceptors = new Map<number, WebSocketServer>();

  constructor(parts: UpgradeParts) {
    this.#parts = parts;
  }

  async handle(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const socket = stream as UpgradeSocket;
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    socket.on('error', () => socket.destroy());
    const { dispatcher } = this.#parts;
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') return this.#serveUnupgraded(request, response);
    const exchange = dispatcher.begin(request, response);
    try {
      const { match, target } = dispatcher.admit(exchange);
      const served = dispatcher.requireServed(match, exchange);
      if (served.kind !== 'upgrade') throw new RefusedRequest('upgrade_unsupported');
      if (!isHandshake(request)) {
        exchange.headers['Sec-WebSocket-Version'] = '13';
        throw new RefusedRequest('bad_handshake');
      }
      await this.#accept(exchange, served, target, head);
    } catch (error) {
      if (exchange.upgraded) this.#cut(exchange, error);
      else dispatcher.fail(exchange, error);
    }
  }

  /** An offer of another protocol may be ignored. The body of such a request is out of reach here. */
  async #serveUnupgraded(request: IncomingMessage, response: Response): Promise<void> {
    const { dispatcher } = this.#parts;
    if (announcesBody(request) === 'none') return dispatcher.handle(request, response);
    dispatcher.fail(dispatcher.begin(request, response), new RefusedRequest('upgrade_unsupported'));
  }

  async #accept(exchange: Exchange, { route, captures }: Served<'upgrade'>, target: RequestTarget, head: Buffer) {
    const { dispatcher, admission } = this.#parts;
    const { address } = exchange.client;
    const retryAfterSeconds = this.#failures.blockedFor(address, admission.now());
    if (retryAfterSeconds > 0) throw new RefusedRequest('auth_rate_limited', { retryAfterSeconds, retryable: true });
    const invoke = this.#admitTo(dispatcher, exchange, route);
    dispatcher.startTrace(exchange)?.end();
    const request = new PluginRequest(exchange, route, captures, target);
    await invoke.call(async (contribution, call: CallContext) => {
      if (!('open' in contribution)) throw new MortiseError('route_mismatch', `${route.pattern} opens no socket`);
      const refusal: RouteResponse | undefined = await contribution.before?.(request, call);
      if (refusal) await exchange.send(refusal);
      else if (!exchange.response.destroyed) await this.#open(exchange, contribution, call, head);
    }, dispatcher.callOptions(exchange));
  }

  #admitTo(dispatcher: Dispatcher, exchange: Exchange, route: Served<'upgrade'>['route']) {
    try {
      return dispatcher.admitTo(route, exchange);
    } catch (error) {
      if (error instanceof RefusedRequest && error.row.event === 'auth_failed') {
        this.#failures.add(exchange.client.address, this.#parts.admission.now());
      }
      throw error;
    }
  }

  /** Resolves when the socket is closed: that long the route is leased. */
  #open(exchange: Exchange, route: UpgradeRoute, call: CallContext, head: Buffer): Promise<void> {
    const { inFlight, log } = this.#parts;
    const { request, response } = exchange;
    const { socket } = response;
    if (!socket) return Promise.resolve();
    // What happens on the socket later still happens on this plugin's account.
    const within = AsyncLocalStorage.snapshot();
    return new Promise((resolve) => {
      socket.once('close', () => resolve());
      exchange.upgraded = true;
      response.detachSocket(socket);
      this.#acceptor(route.maxFrameBytes).handleUpgrade(request, socket, head, (webSocket: WebSocket) => {
        const ongoing = {
          abort: () => webSocket.close(1001, 'server_shutdown'),
          destroy: () => webSocket.terminate(),
        };
        inFlight.add(ongoing);
        call.signal.addEventListener('abort', () => closeAndCut(webSocket), { once: true });
        webSocket.once('close', () => {
          inFlight.remove(ongoing);
          resolve();
        });
        within(() =>
          attachSocket(webSocket, socket, route, call, {
            id: exchange.correlationId,
            remoteAddress: exchange.client.address,
            headers: plainHeaders(request.headers),
            authenticate: (key) => this.#authenticate(key, exchange),
            unauthenticated: () => this.#refused('auth_failed', exchange),
            admit: (principal) => this.#admitRequest(principal, exchange),
            log,
          }),
        );
      });
      // As a request it is over; a drain sees the socket from here on.
      response.emit('close');
    });
  }

  #authenticate(key: string, exchange: Exchange): SocketAuthentication {
    const { authenticator, now } = this.#parts.admission;
    const { address, loopback } = exchange.client;
    if (this.#failures.blockedFor(address, now()) > 0) {
      this.#refused('rate_limited', exchange);
      return { ok: false, reason: 'rate_limited' };
    }
    const principal = authenticator.principalOf(key, loopback);
    if (principal) return { ok: true, principal };
    this.#failures.add(address, now());
    this.#refused('auth_failed', exchange);
    return { ok: false, reason: 'auth_failed' };
  }

  #admitRequest(principal: Principal, exchange: Exchange): number {
    const waitMs = takeToken(this.#parts.admission, { principal, client: exchange.client });
    if (waitMs > 0) this.#refused('rate_limited', exchange, principal);
    return waitMs;
  }

  #refused(reason: Refusal['reason'], { client, pattern, correlationId }: Exchange, principal?: Principal): void {
    const subject = refusalSubject({ principal, client });
    this.#parts.emitRefusal({ reason, subject, target: pattern, correlationId });
  }

  #acceptor(maxPayload: number): WebSocketServer {
    const known = this.#acceptors.get(maxPayload);
    if (known) return known;
    const acceptor = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload,
    });
    this.#acceptors.set(maxPayload, acceptor);
    return acceptor;
  }

  #cut(exchange: Exchange, error: unknown): void {
    const code = error instanceof MortiseError ? error.code : 'internal_error';
    this.#parts.log.debug({ correlation_id: exchange.correlationId, code }, 'a socket ended with an error');
  }
}

/** What ws would refuse by itself, without the headers of our answers. */
function isHandshake({ method, headers }: IncomingMessage): boolean {
  const version = headers['sec-websocket-version'];
  const key = headers['sec-websocket-key'];
  return method === 'GET' && version === '13' && typeof key === 'string' && /^[+/0-9A-Za-z]{22}==$/.test(key);
}

/** How long a socket may take for its closing handshake once its plugin has to stop, milliseconds. */
const closingMs = 1_000;

function closeAndCut(webSocket: WebSocket): void {
  webSocket.close(1001, 'server_shutdown');
  const timer = setTimeout(() => webSocket.terminate(), closingMs);
  webSocket.once('close', () => clearTimeout(timer));
}
