import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIP, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import Koa, { type DefaultState } from 'koa';
import { type HttpService, type Logger, type ManifestMount, MortiseError, type Refusal } from '../sdk/index.js';
import type { HttpSettings } from '../settings/types.js';
import type { HostMetrics, Tracing } from '../telemetry/index.js';
import { createAdmission, type Stage } from './admission.js';
import { answerConnectionError } from './answer-error.js';
import { createAuthenticator } from './caller.js';
import { type Exchange, lastWordsMs } from './exchange.js';
import { createHostCheck } from './host-check.js';
import type { MountedRoute } from './mounted-route.js';
import { Mounts, type ReadSetting } from './mounts.js';
import { createServer, listenOn } from './node-http.js';
import { AuthFailures, createToolLimits, RateLimiter } from './rate-limits.js';
import { expectContinue } from './request-body.js';
import { InFlight, RequestRecords } from './request-record.js';
import { createRouteTable, type RouteTable } from './route-table.js';
import { isWebSocket, SocketOpener, UpgradeResponse } from './upgrade.js';

export interface HttpDeps {
  readonly log: Logger;
  readonly metrics?: Pick<HostMetrics, 'httpRequests' | 'httpDuration'> | undefined;
  readonly tracing?: Pick<Tracing, 'begin'> | undefined;
  /** Called for each refused request that is audited. Must not throw. */
  readonly emitRefusal: (refusal: Refusal) => void;
  /** Silence on an event stream after which a comment is sent, seconds; 15 when absent, 0 = never. */
  readonly sseKeepAliveSeconds?: number | undefined;
  /** Time after which a client that reads nothing of its answer is disconnected, milliseconds; 120,000 when absent. */
  readonly slowReaderMs?: number | undefined;
  /** For mount limits derived from a setting. */
  readonly setting?: ReadSetting | undefined;
  /** Monotonic clock, milliseconds. */
  readonly now?: (() => number) | undefined;
}

/** The one listening socket of the process. */
export interface HttpServer {
  /** `host.use('http')` of the plugins. */
  readonly service: HttpService;
  /** @throws MortiseError `port_in_use`, `address_not_available`, `public_bind_without_key`. */
  listen(): Promise<{ readonly origin: string }>;
  /**
   * Replaces all routes and mounts at once; requests in flight keep the route they began with. Each mount of a route must
   * be one of `mounts`.
   */
  mount(routes: readonly MountedRoute[], mounts?: Iterable<ManifestMount>): void;
  /**
   * Stops accepting, answers further requests on open connections with 503 until {@link close}, and waits for requests in
   * flight. After `deadline` (epoch milliseconds) the rest is aborted with reason `server_shutdown`, and cut off
   * `lastWords` milliseconds later (at most a second).
   */
  drain(deadline: number, lastWords?: number): Promise<'clean' | 'degraded'>;
  /** Closes everything immediately. */
  close(): Promise<void>;
}

/** How often Node looks for requests that arrive too slowly, milliseconds. */
const slowRequestCheckMs = 1_000;

/** Builds the server; it does not listen yet. */
export function createHttpServer(settings: HttpSettings, deps: HttpDeps): HttpServer {
  const { log, metrics, tracing, emitRefusal, setting = () => undefined } = deps;
  const now = deps.now ?? (() => performance.now());
  const authenticator = createAuthenticator(settings);
  const hosts = createHostCheck(settings);
  const inFlight = new InFlight();
  const limiter = settings.rateLimit && new RateLimiter(settings.rateLimit);
  const authFailures = new AuthFailures();
  let mounted = { routes: [] as readonly MountedRoute[], mounts: new Mounts([], setting) };
  let built: RouteTable | undefined;
  // Built for the first request after a change: while plugins start, their routes change dozens of times.
  const table = (): RouteTable => {
    built ??= createRouteTable(mounted.routes, mounted.mounts);
    return built;
  };
  let isDraining = false;
  let origin: string | undefined;
  const awaitListening = new Set<() => void>();

  const draining = () => isDraining;
  const exchanges = {
    listedOrigins: hosts.listedOrigins,
    keepAliveMs: (deps.sseKeepAliveSeconds ?? 15) * 1000,
    slowReaderMs: deps.slowReaderMs ?? 120_000,
    writeMs: settings.timeouts.write * 1000,
    draining,
  };
  const requests = new RequestRecords({ exchanges, trustProxy: settings.trustProxy, inFlight, log, metrics, now });
  const callers = { authenticator, authFailures, limiter, now, log, emitRefusal };
  const sockets = new SocketOpener({ ...callers, inFlight });
  const admission = createAdmission({ ...callers, requests, table, draining, hosts, sockets, tracing });
  const server = createNodeServer(settings, admission, requests);

  return {
    service: {
      get origin() {
        return origin;
      },
      onListening(run) {
        if (origin === undefined) awaitListening.add(run);
        else run();
        return { dispose: () => void awaitListening.delete(run) };
      },
      loopback: isLoopbackHost(settings.host),
      keyed: authenticator.keyed,
      actors: [...new Set(settings.principals.flatMap(({ actor }) => actor ?? []))],
      adminKeyed: authenticator.adminKeyed,
      isAdminKey: authenticator.isAdminKey,
      adminHint: authenticator.adminHint,
      asConfigured: authenticator.asConfigured,
      admitToolCall: createToolLimits(settings.toolRateLimits, now, emitRefusal),
      get draining() {
        return isDraining;
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
      for (const run of awaitListening) run();
      awaitListening.clear();
      return { origin };
    },
    mount(routes, mounts = []) {
      mounted = { routes, mounts: new Mounts(mounts, setting) };
      built = undefined;
    },
    async drain(deadline, lastWords = lastWordsMs) {
      isDraining = true;
      // Not http's own close(): that cuts idle connections at once, and their next request would fail.
      NetServer.prototype.close.call(server);
      const clean = await inFlight.whenEmpty(deadline - Date.now());
      if (!clean) {
        inFlight.abortAll(
          new MortiseError('server_shutdown', 'the server is shutting down', { status: 503, retryable: true }),
        );
        if (!(await inFlight.whenEmpty(Math.min(lastWords, lastWordsMs)))) inFlight.cutAll();
      }
      return clean ? 'clean' : 'degraded';
    },
    async close() {
      isDraining = true;
      inFlight.cutAll();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The list of middlewares is complete before the server listens, and never changes after that. */
function createNodeServer(settings: HttpSettings, admission: readonly Stage[], requests: RequestRecords): Server {
  const { readHeader, read, idle } = settings.timeouts;
  const app = new Koa<DefaultState, { exchange: Exchange }>();
  // Admission answers errors; koa's error page and log are not used.
  app.silent = true;
  for (const stage of admission) app.use(stage);
  const handle = app.callback() as (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  const options = {
    headersTimeout: Math.min(readHeader, read) * 1000,
    requestTimeout: read * 1000,
    keepAliveTimeout: idle * 1000,
    connectionsCheckingInterval: slowRequestCheckMs,
    // A request without Host is refused by the host check, not by Node.
    requireHostHeader: false,
    // Where Node knows the option, an offer of another protocol (h2c) is served as an ordinary request.
    shouldUpgradeCallback: isWebSocket,
  };
  const server = createServer(options, handle);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    expectContinue(response);
    void handle(request, response);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void handle(request, new UpgradeResponse(request, socket, head));
  });
  server.on('clientError', (error: Error & { code?: string }, socket: Duplex) => {
    answerConnectionError(error, socket, requests.openOn(socket));
  });
  return server;
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
