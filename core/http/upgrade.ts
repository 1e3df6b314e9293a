import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  type CallContext,
  type Logger,
  MortiseError,
  type Principal,
  type Refusal,
  type UpgradeRoute,
} from '../sdk/index.js';
import type { SocketAuthentication } from '../sdk/points/route.js';
import { type Authenticator, callerKey, refusalSubject } from './caller.js';
import type { Exchange } from './exchange.js';
import type { RouteInvoker } from './mounted-route.js';
import { ServerResponse } from './node-http.js';
import type { AuthFailures, RateLimiter } from './rate-limits.js';
import { RefusedRequest } from './refusals.js';
import { announcesBody } from './request-body.js';
import type { InFlight } from './request-record.js';
import { PluginRequest, plainHeaders } from './route-request.js';
import type { ServedMatch } from './route-table.js';
import { attachSocket } from './socket.js';

/** The socket of an upgrade request: Node passes a plain stream, but the server's connections are TCP sockets. */
type UpgradeSocket = Parameters<InstanceType<typeof ServerResponse>['assignSocket']>[0];

/** The response of an upgrade request, for which Node makes none. A refusal is an ordinary answer. */
export class UpgradeResponse extends ServerResponse {
  /** The first bytes after the request. */
  readonly head: Buffer;
  /**
   * False: an offer of another protocol (h2c) that may be ignored, so the request is served as an ordinary one. With a
   * body it cannot be, because Node does not hand over the body of an upgrade request.
   */
  readonly upgrading: boolean;

  constructor(request: IncomingMessage, stream: Duplex, head: Buffer) {
    super(request);
    this.head = head;
    this.upgrading = isWebSocket(request) || announcesBody(request) !== 'none';
    const socket = stream as UpgradeSocket;
    this.shouldKeepAlive = false;
    this.assignSocket(socket);
    this.once('finish', () => socket.destroySoon());
    socket.on('error', () => socket.destroy());
  }
}

/** Whether the client offers to speak WebSocket. */
export function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** Checks that the route opens sockets, and the handshake: ws would refuse it without the headers of our responses. */
export function checkUpgrade(match: ServedMatch, { request, headers }: Exchange): void {
  if (match.kind !== 'upgrade') throw new RefusedRequest('upgrade_unsupported');
  const version = request.headers['sec-websocket-version'];
  const key = request.headers['sec-websocket-key'];
  const valid = typeof key === 'string' && /^[+/0-9A-Za-z]{22}==$/.test(key);
  if (request.method === 'GET' && version === '13' && valid) return;
  headers['Sec-WebSocket-Version'] = '13';
  throw new RefusedRequest('bad_handshake');
}

interface SocketDeps {
  readonly authenticator: Authenticator;
  readonly authFailures: AuthFailures;
  readonly limiter: RateLimiter | undefined;
  readonly inFlight: InFlight;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly log: Logger;
  readonly emitRefusal: (refusal: Refusal) => void;
}

/** Turns admitted upgrade requests into WebSockets. */
export class SocketOpener {
  readonly #deps: SocketDeps;
  /** One acceptor per frame limit: ws has the limit per acceptor. */
  readonly #acceptors = new Map<number, WebSocketServer>();

  constructor(deps: SocketDeps) {
    this.#deps = deps;
  }

  /** Resolves when the socket is closed, or the route itself has refused it. */
  open(exchange: Exchange, match: ServedMatch<'http' | 'upgrade'>, invoke: RouteInvoker): Promise<void> {
    const request = new PluginRequest(exchange, match);
    return invoke.call(async (contribution, call: CallContext) => {
      if (!('open' in contribution)) throw new MortiseError('route_mismatch', `${match.pattern} opens no socket`);
      const refusal = await contribution.before?.(request, call);
      if (refusal) await exchange.send(refusal);
      else if (!exchange.response.destroyed) await this.#accept(exchange, contribution, call);
    }, exchange.callOptions());
  }

  #accept(exchange: Exchange, route: UpgradeRoute, call: CallContext): Promise<void> {
    const { inFlight, log } = this.#deps;
    const { request, response } = exchange;
    const { socket } = response;
    if (!socket || !(response instanceof UpgradeResponse)) return Promise.resolve();
    // Later events of the socket are still attributed to this plugin.
    const within = AsyncLocalStorage.snapshot();
    return new Promise((resolve) => {
      socket.once('close', () => resolve());
      exchange.upgraded = true;
      response.detachSocket(socket);
      this.#acceptor(route.maxFrameBytes).handleUpgrade(request, socket, response.head, (webSocket: WebSocket) => {
        const ongoing = {
          abort: () => webSocket.close(1001, 'server_shutdown'),
          cut: () => webSocket.terminate(),
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
            admit: (principal) => this.#limitRate(principal, exchange),
            log,
          }),
        );
      });
      // The request is finished; from here on a drain waits for the socket.
      response.emit('close');
    });
  }

  #authenticate(key: string, exchange: Exchange): SocketAuthentication {
    const { authenticator, authFailures, now } = this.#deps;
    const { address, loopback } = exchange.client;
    const principal = authenticator.principalOf(key, loopback);
    if (principal) return { ok: true, principal };
    if (authFailures.blockedFor(address, now()) > 0) {
      this.#refused('rate_limited', exchange);
      return { ok: false, reason: 'rate_limited' };
    }
    authFailures.add(address, now());
    this.#refused('auth_failed', exchange);
    return { ok: false, reason: 'auth_failed' };
  }

  #limitRate(principal: Principal, exchange: Exchange): number {
    const { limiter, now } = this.#deps;
    const waitMs = limiter?.take(callerKey({ principal, client: exchange.client }), now()) ?? 0;
    if (waitMs > 0) this.#refused('rate_limited', exchange, principal);
    return waitMs;
  }

  #refused(reason: Refusal['reason'], { client, match, correlationId }: Exchange, principal?: Principal): void {
    const subject = refusalSubject({ principal, client });
    this.#deps.emitRefusal({ reason, subject, target: match.pattern, correlationId });
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
}

/** Time for the closing handshake of a socket whose plugin stops, milliseconds. */
const closingMs = 1_000;

function closeAndCut(webSocket: WebSocket): void {
  webSocket.close(1001, 'server_shutdown');
  const timer = setTimeout(() => webSocket.terminate(), closingMs);
  webSocket.once('close', () => clearTimeout(timer));
}
