import type { DefaultState, Middleware } from 'koa';
import { type CallContext, isCodedError, type Logger, MortiseError, type Refusal } from '../sdk/index.js';
import type { RouteContribution } from '../sdk/points/route.js';
import { newTraceContext, parseTraceparent, type Tracing } from '../telemetry/index.js';
import { answerError, logSocketError } from './answer-error.js';
import { type Authenticator, callerKey } from './caller.js';
import { isPreflight } from './cors.js';
import type { Exchange } from './exchange.js';
import type { HostCheck } from './host-check.js';
import type { RouteInvoker } from './mounted-route.js';
import { defaultMount } from './mounts.js';
import type { AuthFailures, RateLimiter } from './rate-limits.js';
import { RefusedRequest } from './refusals.js';
import { readRequestBody } from './request-body.js';
import type { RequestRecords } from './request-record.js';
import { isWellFormed } from './request-target.js';
import { PluginRequest, RouteCall } from './route-request.js';
import type { Match, RouteTable, ServedMatch } from './route-table.js';
import { acceptsHtml, serveStatic } from './serve-static.js';
import { checkUpgrade, type SocketOpener, UpgradeResponse } from './upgrade.js';

/** One step of admission. It throws to refuse, or calls the next one. */
export type Stage = Middleware<DefaultState, { exchange: Exchange }>;

interface AdmissionDeps {
  readonly requests: RequestRecords;
  /** The current route table. */
  readonly table: () => RouteTable;
  readonly draining: () => boolean;
  readonly hosts: HostCheck;
  readonly authenticator: Authenticator;
  readonly authFailures: AuthFailures;
  readonly limiter: RateLimiter | undefined;
  readonly sockets: SocketOpener;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly log: Logger;
  readonly tracing: Pick<Tracing, 'begin'> | undefined;
  readonly emitRefusal: (refusal: Refusal) => void;
}

/**
 * The steps of each request, from top to bottom. WebSocket upgrades run the same list; they have no body, and their
 * handler opens the socket. The list never changes: routes of plugins are in the route table.
 */
export function createAdmission(deps: AdmissionDeps): readonly Stage[] {
  return [
    openRecord(deps),
    answerErrors(deps),
    findRoute(deps),
    refuseWhileDraining(deps),
    checkHostAndOrigin(deps),
    answerPreflight(deps),
    requireRoute,
    startTrace(deps),
    authenticate(deps),
    refuseForeignPages(deps),
    limitRate(deps),
    requireActivePlugin,
    readBody,
    callHandler(deps),
    writeResponse,
  ];
}

/** Ids, log line, metrics, and the tracking that lets a shutdown wait for the request. */
function openRecord({ requests }: AdmissionDeps): Stage {
  return (ctx, next) => {
    // The exchange writes the response, koa does not.
    ctx.respond = false;
    ctx.exchange = requests.open(ctx.req, ctx.res);
    return next();
  };
}

/** Answers what a later stage throws, in the envelope of the mount; emits refusals and logs unexpected errors. */
function answerErrors({ emitRefusal, log, table }: AdmissionDeps): Stage {
  return async ({ exchange }, next) => {
    try {
      await next();
    } catch (error) {
      // A route may refuse its method for one of its paths.
      if (isCodedError(error) && error.status === 405)
        exchange.headers.Allow ??= table().allowOf(exchange.target.path, exchange.request.method ?? '');
      if (exchange.upgraded) logSocketError(log, exchange, error);
      else answerError(exchange, error, emitRefusal, log);
    }
  };
}

/** Finds the route, and with it the mount: later refusals use its envelope. */
function findRoute({ table }: AdmissionDeps): Stage {
  return ({ exchange }, next) => {
    exchange.match = table().find(exchange.request.method ?? 'GET', exchange.target.path);
    exchange.mount = exchange.match.mount;
    return next();
  };
}

function refuseWhileDraining({ draining }: AdmissionDeps): Stage {
  return (_, next) => {
    if (draining()) throw new RefusedRequest('shutting_down', { retryAfterSeconds: 1, retryable: true });
    return next();
  };
}

/** The request is meant for this server, is not sent by a foreign page, and has a valid path. */
function checkHostAndOrigin({ hosts }: AdmissionDeps): Stage {
  return ({ exchange: { request, target, mount } }, next) => {
    const { host, origin } = request.headers;
    const sentOnce = countHosts(request.rawHeaders) === 1;
    if (!sentOnce || !hosts.host(host) || (target.authority !== undefined && !hosts.host(target.authority))) {
      throw new RefusedRequest('host_not_allowed', {
        hint: 'Add the name to MORTISE_ALLOWED_HOSTS to accept requests for it.',
      });
    }
    if (origin !== undefined && !hosts.origin(origin, host)) {
      throw new RefusedRequest('origin_not_allowed', {
        hint: 'Add the origin to MORTISE_ALLOWED_ORIGINS when its pages may call this server.',
      });
    }
    if (!isWellFormed(target.path) && !(target.path === '*' && request.method === 'OPTIONS')) {
      throw new RefusedRequest(mount.badEscape);
    }
    return next();
  };
}

/** OPTIONS needs no key: a browser sends none with a preflight request. */
function answerPreflight({ table }: AdmissionDeps): Stage {
  return ({ exchange }, next) => {
    const { request, target, match, mount } = exchange;
    if (request.method !== 'OPTIONS') return next();
    if (match.kind === 'wrong-method') exchange.headers.Allow = match.allow;
    else if (target.path !== '*' && !isServed(table().find('GET', target.path))) throw unserved(match, exchange);
    const body = isPreflight(request) ? undefined : mount.optionsBody?.(exchange);
    return exchange.send(body === undefined ? { status: 204 } : { body });
  };
}

/** 404 and 405 without a route, 426 and 400 where HTTP is used in place of WebSocket or the reverse. */
const requireRoute: Stage = ({ exchange }, next) => {
  const { match, request, response } = exchange;
  if (!isServed(match)) throw unserved(match, exchange);
  if (response instanceof UpgradeResponse && response.upgrading) checkUpgrade(match, exchange);
  else if (match.kind === 'upgrade') {
    exchange.headers.Upgrade = 'websocket';
    throw new RefusedRequest('upgrade_required');
  }
  // A static folder at the root matches every unknown path; the hint belongs only where its page would be.
  if (match.kind === 'static' && !match.route.mounted.enabled) {
    throw acceptsHtml(request) ? disabled(match.route.mounted.plugin, exchange) : new RefusedRequest('not_found');
  }
  return next();
};

function startTrace({ tracing }: AdmissionDeps): Stage {
  return ({ exchange }, next) => {
    const { request, match } = exchange;
    const { method = '' } = request;
    const header = request.headers.traceparent;
    const traceparent = typeof header === 'string' ? header : undefined;
    const begun = tracing?.begin(`${method} ${match.pattern}`, traceparent, {
      'http.request.method': method,
      'http.route': match.pattern,
    });
    exchange.trace = begun?.trace ?? parseTraceparent(traceparent) ?? newTraceContext(false);
    const span = begun?.span;
    if (!span) return next();
    if (match.kind === 'upgrade') {
      // A span that lasts as long as the socket is not useful.
      span.end();
      return next();
    }
    return next().then(
      () => span.end(),
      (error: unknown) => {
        span.end(error);
        throw error;
      },
    );
  };
}

/** Identifies the caller and checks the right that the route requires. */
function authenticate({ authenticator, authFailures, limiter, hosts, now }: AdmissionDeps): Stage {
  return ({ exchange }, next) => {
    const { request, client } = exchange;
    const { declaration } = servedMatch(exchange).route.mounted;
    const upgrade = declaration.kind === 'upgrade';
    // A browser sends the request from this machine even for a foreign page.
    const local = client.loopback && isFromOwnPage(hosts, request);
    const { principal, credentials } = authenticator.identify(request.headers, client.loopback, local);
    const blockedSeconds = upgrade && credentials === 'bad' ? authFailures.blockedFor(client.address, now()) : 0;
    if (blockedSeconds > 0) {
      throw new RefusedRequest('auth_rate_limited', { retryAfterSeconds: blockedSeconds, retryable: true });
    }
    exchange.principal = principal;
    // A wrong key takes from the bucket of its address, on public routes too.
    if (credentials === 'bad') takeToken(limiter, exchange, now());
    const keyMissing = declaration.auth !== 'public' && authenticator.keyed && credentials !== 'good';
    // A public upgrade may authenticate with its first frame, but a wrong key in the headers is refused at once.
    if (keyMissing || (upgrade && credentials === 'bad')) {
      if (upgrade) authFailures.add(client.address, now());
      throw new RefusedRequest('unauthorized');
    }
    if (declaration.auth === 'admin' && !principal.admin)
      throw new RefusedRequest('admin_required', { hint: authenticator.adminHint });
    return next();
  };
}

/**
 * Any program on this machine may serve a page. Admin routes refuse changes from a page of another origin,
 * whatever rights its request has. Without a key, other routes also refuse what a browser sends without a preflight: a
 * socket, and a request with a simple content type.
 */
function refuseForeignPages({ hosts, authenticator }: AdmissionDeps): Stage {
  return ({ exchange }, next) => {
    const { request, mount, principal } = exchange;
    const { auth, kind } = servedMatch(exchange).route.mounted.declaration;
    const isSafe = kind === 'upgrade' ? authenticator.keyed : safeMethods.has(request.method ?? '');
    if (isSafe || isFromOwnPage(hosts, request)) return next();
    const isUnasked = kind === 'upgrade' || (!needsPreflight(request) && mount.cors?.origins !== 'any');
    if (auth !== 'admin' && (principal?.authenticated || !isUnasked)) return next();
    throw new RefusedRequest('origin_not_allowed', {
      hint: 'Add the origin to MORTISE_ALLOWED_ORIGINS when its pages may change something on this server.',
    });
  };
}

const simpleTypes = /^(?:text\/plain|application\/x-www-form-urlencoded|multipart\/form-data)\b/i;

/** Whether a browser sends a preflight first: the body's type is one that no form has. */
function needsPreflight({ headers, method = '' }: Exchange['request']): boolean {
  const type = headers['content-type'];
  return method !== 'POST' || (type !== undefined && !simpleTypes.test(type));
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

function isFromOwnPage(hosts: HostCheck, { headers }: Exchange['request']): boolean {
  return headers.origin === undefined || hosts.trustedOrigin(headers.origin, headers.host);
}

function limitRate({ limiter, now }: AdmissionDeps): Stage {
  return ({ exchange }, next) => {
    if (servedMatch(exchange).route.mounted.declaration.auth !== 'public') takeToken(limiter, exchange, now());
    return next();
  };
}

/** @throws RefusedRequest `rate_limited` */
function takeToken(limiter: RateLimiter | undefined, exchange: Exchange, now: number): void {
  const waitMs = limiter?.take(callerKey(exchange), now) ?? 0;
  if (waitMs === 0) return;
  throw new RefusedRequest('rate_limited', { retryAfterSeconds: Math.ceil(waitMs / 1000), retryable: true });
}

const requireActivePlugin: Stage = ({ exchange }, next) => {
  const { plugin, invoke, hint } = servedMatch(exchange).route.mounted;
  if (invoke) return next();
  if (hint !== undefined) useDefaultBody(exchange);
  throw new RefusedRequest('plugin_unavailable', {
    hint: hint ?? `mortise plugin inspect ${plugin} shows why it is not running.`,
    retryable: true,
  });
};

/** Size, type, encoding, depth and syntax of the body. A request without a body does not wait. */
const readBody: Stage = ({ exchange }, next) => {
  const { match, request, response, mount } = exchange;
  if (match.kind !== 'http') return next();
  const body = readRequestBody(request, response, mount, () => {
    exchange.bodyTaken = true;
  });
  if (!(body instanceof Promise)) {
    exchange.body = body;
    return next();
  }
  return body.then((read) => {
    exchange.body = read;
    return next();
  });
};

/** Calls the contribution through its lease, which lasts until the response is written or the socket is closed. */
function callHandler({ sockets, limiter, now }: AdmissionDeps): Stage {
  const takeItsToken = (exchange: Exchange) => takeToken(limiter, exchange, now());
  return ({ exchange }, next) => {
    const match = servedMatch(exchange);
    const invoke = invokerOf(match);
    if (match.kind === 'upgrade') return sockets.open(exchange, match, invoke);
    if (match.kind === 'static') return serveFile(exchange, match, invoke, next);
    const request = new PluginRequest(exchange, match);
    const respond = (answer: Exchange['answer']) => {
      exchange.answer = answer;
      return next();
    };
    return invoke.call((contribution: RouteContribution, call: CallContext) => {
      if (!('handle' in contribution)) throw notServed(match);
      const answer = contribution.handle(request, new RouteCall(call, exchange, takeItsToken));
      return 'then' in answer ? answer.then(respond) : respond(answer);
    }, exchange.callOptions());
  };
}

const writeResponse: Stage = ({ exchange }) => exchange.send(exchange.answer);

function serveFile(
  exchange: Exchange,
  match: ServedMatch<'static'>,
  invoke: RouteInvoker,
  next: () => Promise<unknown>,
): Promise<unknown> {
  return invoke.call(async (contribution) => {
    if (!('folder' in contribution)) throw notServed(match);
    const answer = await serveStatic(contribution, match.rest, exchange.request, match.declaredPath);
    if (!answer) throw new RefusedRequest('not_found');
    exchange.answer = answer;
    await next();
  }, exchange.callOptions());
}

function isServed(match: Match): match is ServedMatch {
  return 'route' in match;
}

/** The match of a request that has passed `requireRoute`. */
function servedMatch({ match }: Exchange): ServedMatch {
  if (isServed(match)) return match;
  throw new RefusedRequest('not_found');
}

function unserved(match: Match, exchange: Exchange): RefusedRequest {
  if (match.kind === 'disabled') return disabled(match.plugin, exchange);
  if (match.kind !== 'wrong-method') return new RefusedRequest('not_found');
  exchange.headers.Allow = match.allow;
  return new RefusedRequest('method_not_allowed');
}

/** The body of the default mount, which has the hint, and the CORS headers of its own. */
function useDefaultBody(exchange: Exchange): void {
  exchange.mount = { ...defaultMount, cors: exchange.mount.cors };
}

function disabled(plugin: string, exchange: Exchange): RefusedRequest {
  useDefaultBody(exchange);
  return new RefusedRequest('not_found', { hint: `plugin ${plugin} is disabled` });
}

function invokerOf({ route }: ServedMatch): RouteInvoker {
  if (!route.mounted.invoke) throw new RefusedRequest('plugin_unavailable');
  return route.mounted.invoke;
}

function notServed({ route, pattern }: ServedMatch): MortiseError {
  const { kind, name } = route.mounted.declaration;
  return new MortiseError('route_mismatch', `the contribution "${name}" does not serve ${pattern} as ${kind}`);
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name !== undefined && name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}
