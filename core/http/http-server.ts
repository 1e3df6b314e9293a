import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIP, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import Koa from 'koa';
import { type HttpService, type Logger, MortiseError, type Refusal } from '../sdk/index.js';
import type { HostMetrics, Tracing } from '../telemetry/index.js';
import { createAuthenticator } from './authenticate.js';
import { answerConnectionError } from './connection-error.js';
import { Dispatcher } from './dispatcher.js';
import { lastWordsMs } from './exchange.js';
import { createHostCheck } from './host-check.js';
import type { HttpServerSettings } from './http-settings.js';
import { InFlight } from './in-flight.js';
import { listenOn } from './listen.js';
import type { MountedRoute } from './mounted-route.js';
import { createMounts } from './mounts.js';
import { createServer } from './node-http.js';
import { RateLimiter } from './rate-limit.js';
import { createRequestRecord } from './request-record.js';
import { createRouteTable } from './route-table.js';
import { expectContinue } from './take-body.js';
import { createToolLimits } from './tool-limits.js';
import { Upgrades } from './upgrade.js';

export interface HttpDependencies {
  readonly log: Logger;
  readonly metrics?: Pick<HostMetrics, 'httpRequests' | 'httpDuration'> | undefined;
  readonly tracing?: Pick<Tracing, 'begin'> | undefined;
  /** Told of each refused request; aggregating and auditing is the listener's business. Must not throw. */
  readonly emitRefusal: (refusal: Refusal) => void;
  /** Silence on an event stream after which a comment is sent, seconds; 15 when absent, 0 = never. */
  readonly sseKeepAliveSeconds?: number | undefined;
  /** Time after which a client that takes nothing of its answer is cut off, seconds; 120 when absent. */
  readonly slowReaderSeconds?: number | undefined;
  /** Largest body of the mount `mcp`, bytes; see `mcpMaxBytes`. */
  readonly mcpMaxBytes?: number | undefined;
  /** Monotonic clock, milliseconds. */
  readonly now?: (() => number) | undefined;
}

/** The one listening socket of the process. */
export interface HttpServer {
  /** `host.use('http')` of the plugins. */
  readonly service: HttpService;
  /** @throws MortiseError `port_in_use`, `address_not_available`, `public_bind_without_key`. */
  listen(): Promise<{ readonly origin: string }>;
  /** Replaces the whole table of routes at once; requests in flight keep the route they began with. */
  mount(routes: readonly MountedRoute[]): void;
  /**
   * Stops accepting, answers further requests on open connections with 503 until {@link close}, and waits for what is in
   * flight. After `deadline` (epoch milliseconds) the rest is aborted with reason `server_shutdown` and, when it has had
   * `lastWords` milliseconds (at most a second), cut off.
   */
  drain(deadline: number, lastWords?: number): Promise<'clean' | 'degraded'>;
  /** Ends everything at once. */
  close(): Promise<void>;
}

/** How often Node looks for requests that arrive too slowly, milliseconds. */
const slowRequestCheckMs = 1_000;

/** Builds the server; nothing listens yet. Its koa application has one permanent middleware: the dispatcher. */
export function createHttpServer(settings: HttpServerSettings, dependencies: HttpDependencies): HttpServer {
  const { log, metrics, tracing, emitRefusal } = dependencies;
  const now = dependencies.now ?? (() => performance.now());
  const mounts = createMounts(dependencies.mcpMaxBytes);
  const fallbackMount = mounts.get('agent');
  if (!fallbackMount) throw new TypeError('the mount "agent" is missing');
  const authenticator = createAuthenticator(settings);
  const hosts = createHostCheck(settings);
  const inFlight = new InFlight();
  const limiter = settings.rateLimit && new RateLimiter(settings.rateLimit);
  let table = createRouteTable([], mounts);
  let draining = false;
  let origin: string | undefined;

  const admission = { hosts, authenticator, limiter, now };
  const dispatcher = new Dispatcher({
    table: () => table,
    fallbackMount,
    admission,
    exchanges: {
      listedOrigins: hosts.listedOrigins,
      keepAliveMs: (dependencies.sseKeepAliveSeconds ?? 15) * 1000,
      slowReaderMs: (dependencies.slowReaderSeconds ?? 120) * 1000,
      writeMs: settings.timeouts.write * 1000,
      draining: () => draining,
    },
    trustProxy: settings.trustProxy,
    inFlight,
    record: createRequestRecord(log, metrics),
    log,
    tracing,
    emitRefusal,
  });
  const upgrades = new Upgrades({ dispatcher, admission, inFlight, log, emitRefusal });
  const server = createNodeServer(settings, dispatcher, upgrades);

  return {
    service: {
      get origin() {
        return origin;
      },
      loopback: isLoopbackHost(settings.host),
      keyed: authenticator.keyed,
      actors: [...new Set(settings.principals.flatMap(({ actor }) => actor ?? []))],
      adminKeyed: authenticator.adminKeyed,
      isAdminKey: authenticator.isAdminKey,
      admitToolCall: createToolLimits(settings.toolRateLimits, now, emitRefusal),
      get draining() {
        return draining;
      },
    },
    async listen() {
      if (!authenticator.keyed && !isLoopbackHost(settings.host)) {
        throw new MortiseError(
          'public_bind_without_key',
          `Refusing to listen on ${settings.host} without an API key: everyone who reaches it could use it.`,
          { hint: 'Set MORTISE_API_KEY (or MORTISE_API_KEYS), or bind to 127.0.0.1.' },
        );
      }
      const { port } = await listenOn(server, settings);
      origin = `http://${isIP(settings.host) === 6 ? `[${settings.host}]` : settings.host}:${port}`;
      return { origin };
    },
    mount(routes) {
      table = createRouteTable(routes, mounts);
    },
    async drain(deadline, lastWords = lastWordsMs) {
      draining = true;
      // Not http's own close(): that cuts idle connections at once, and their next request would get no answer.
      NetServer.prototype.close.call(server);
      const clean = await inFlight.whenEmpty(deadline - Date.now());
      if (!clean) {
        inFlight.abortAll(
          new MortiseError('server_shutdown', 'the server is shutting down', { status: 503, retryable: true }),
        );
        if (!(await inFlight.whenEmpty(Math.min(lastWords, lastWordsMs)))) inFlight.destroyAll();
      }
      return clean ? 'clean' : 'degraded';
    },
    async close() {
      draining = true;
      inFlight.destroyAll();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function createNodeServer(settings: HttpServerSettings, dispatcher: Dispatcher, upgrades: Upgrades): Server {
  const { readHeader, read, idle } = settings.timeouts;
  const app = new Koa();
  // The response is written by the exchange; koa's own error page and log stay silent.
  app.silent = true;
  app.use((ctx) => {
    ctx.respond = false;
    return dispatcher.handle(ctx.req, ctx.res);
  });
  const handle = app.callback() as (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  const options = {
    headersTimeout: Math.min(readHeader, read) * 1000,
    requestTimeout: read * 1000,
    keepAliveTimeout: idle * 1000,
    connectionsCheckingInterval: slowRequestCheckMs,
    // A request without Host gets the answer of the host check, not Node's.
    requireHostHeader: false,
    // Where Node knows the option, an offer of another protocol (h2c) is served as an ordinary request.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket',
  };
  const server = createServer(options, handle);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    expectContinue(response);
    void handle(request, response);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void upgrades.handle(request, socket, head);
  });
  server.on('clientError', (error: Error & { code?: string }, socket: Duplex) => {
    answerConnectionError(error, socket, dispatcher.openOn(socket));
  });
  return server;
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
