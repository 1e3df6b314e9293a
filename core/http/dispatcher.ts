import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type CallContext, type CallOptions, type Logger, MortiseError, type Refusal } from '../sdk/index.js';
import { newTraceContext, parseTraceparent, type SpanHandle, type Tracing } from '../telemetry/index.js';
import { type Admission, admitCaller, admitHost, admitRate, refusalSubject } from './admission.js';
import { readClientAddress } from './client-address.js';
import { isPreflight } from './cors.js';
import { errorFacts } from './error-facts.js';
import { Exchange, type ExchangeSettings } from './exchange.js';
import type { InFlight } from './in-flight.js';
import type { Mount } from './mounts.js';
import { RefusedRequest } from './refusal-rows.js';
import type { RecordRequest } from './request-record.js';
import { isWellFormed, type RequestTarget, readRequestTarget } from './request-target.js';
import { PluginRequest, RouteCall } from './route-request.js';
import type { Match, RouteTable } from './route-table.js';
import { acceptsHtml, serveStatic } from './serve-static.js';
import type { TableRoute } from './table-route.js';
import { takeBody } from './take-body.js';

export interface DispatcherParts {
  /** The table of this moment. */
  readonly table: () => RouteTable;
  readonly fallbackMount: Mount;
  readonly admission: Admission;
  readonly exchanges: ExchangeSettings;
  readonly trustProxy: boolean;
  readonly inFlight: InFlight;
  readonly record: RecordRequest;
  readonly log: Logger;
  readonly tracing: Pick<Tracing, 'begin'> | undefined;
  readonly emitRefusal: (refusal: Refusal) => void;
}

/** A match that a contribution serves. */
export type Served<K extends Match['kind'] = 'route' | 'static' | 'upgrade'> = Extract<Match, { kind: K }>;

/** Takes a request from its first header to its answer, in one fixed order for all routes. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #open = new WeakMap<Duplex, Exchange>();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = this.begin(request, response);
    let span: SpanHandle | undefined;
    try {
      const { match, target } = this.admit(exchange);
      if (request.method === 'OPTIONS') return this.#answerOptions(exchange, match, target);
      const served = this.requireServed(match, exchange);
      if (served.kind === 'upgrade') throw upgradeRequired(exchange);
      span = this.startTrace(exchange);
      await (served.kind === 'static'
        ? this.#serveStatic(exchange, served)
        : this.#serveRoute(exchange, served, target));
      span?.end();
    } catch (error) {
      this.fail(exchange, error);
      span?.end(error);
    }
  }

  /** Opens the books on a request; they are closed when its response is. */
  begin(request: IncomingMessage, response: ServerResponse): Exchange {
    const { admission, exchanges, fallbackMount, inFlight, record, trustProxy } = this.#parts;
    const client = readClientAddress(request, trustProxy);
    const exchange = new Exchange(request, response, client, fallbackMount, admission.now(), exchanges);
    const ongoing = {
      abort: (reason: MortiseError) => exchange.abort(reason),
      destroy: () => response.destroy(),
    };
    inFlight.add(ongoing);
    this.#open.set(request.socket, exchange);
    response.once('close', () => {
      inFlight.remove(ongoing);
      if (this.#open.get(request.socket) === exchange) this.#open.delete(request.socket);
      if (!response.writableFinished && !exchange.upgraded) exchange.leave();
      record(exchange, admission.now() - exchange.startedAt);
    });
    return exchange;
  }

  /** The request that a connection is busy with. */
  openOn(socket: Duplex): Exchange | undefined {
    return this.#open.get(socket);
  }

  /** Finds the route, so that a refusal has the right form, and then refuses what must not come in. */
  admit(exchange: Exchange): { readonly match: Match; readonly target: RequestTarget } {
    const { admission, exchanges, table } = this.#parts;
    const { request } = exchange;
    const target = readRequestTarget(request.url ?? '/');
    const match = table().find(request.method ?? 'GET', target.path);
    exchange.mount = 'route' in match ? match.route.mount : match.mount;
    if ('route' in match) exchange.pattern = match.route.pattern;
    else if ('pattern' in match) exchange.pattern = match.pattern;
    if (exchanges.draining()) throw new RefusedRequest('shutting_down', { retryAfterSeconds: 1, retryable: true });
    admitHost(admission, exchange, target);
    if (!isWellFormed(target.path) && !(target.path === '*' && request.method === 'OPTIONS')) {
      throw new RefusedRequest(exchange.mount.badEscape);
    }
    return { match, target };
  }

  requireServed(match: Match, exchange: Exchange): Served {
    if ('route' in match) return match;
    if (match.kind === 'disabled') throw this.#disabled(match.plugin, exchange);
    if (match.kind === 'unknown') throw new RefusedRequest('not_found');
    exchange.headers.Allow = match.allow;
    throw new RefusedRequest('method_not_allowed');
  }

  /** Checks the caller's right and rate, and that the plugin runs. */
  admitTo(route: TableRoute, exchange: Exchange): Required<Pick<TableRoute['mounted'], 'invoke'>>['invoke'] {
    const { plugin, declaration, enabled, invoke } = route.mounted;
    const caller = admitCaller(this.#parts.admission, exchange, declaration.auth);
    if (declaration.kind === 'upgrade' && caller.credentials === 'bad') throw new RefusedRequest('unauthorized');
    if (declaration.auth !== 'public') admitRate(this.#parts.admission, exchange);
    if (!enabled) throw this.#disabled(plugin, exchange);
    if (!invoke) {
      throw new RefusedRequest('plugin_unavailable', {
        hint: `mortise plugin inspect ${plugin} tells why it is not running.`,
        retryable: true,
      });
    }
    return invoke;
  }

  startTrace(exchange: Exchange): SpanHandle | undefined {
    const header = exchange.request.headers.traceparent;
    const traceparent = typeof header === 'string' ? header : undefined;
    const begun = this.#parts.tracing?.begin(`${exchange.request.method} ${exchange.pattern}`, traceparent, {
      'http.request.method': exchange.request.method ?? '',
      'http.route': exchange.pattern,
    });
    exchange.trace = begun?.trace ?? parseTraceparent(traceparent) ?? newTraceContext(false);
    return begun?.span;
  }

  callOptions(exchange: Exchange): CallOptions {
    const { signal, principal, requestId, correlationId, trace } = exchange;
    return { signal, timeoutMs: 0, principal, requestId, correlationId, trace };
  }

  /** Answers with the error, tells the audit of a refusal, and the log of what nobody expected. */
  fail(exchange: Exchange, error: unknown): void {
    const { emitRefusal, log } = this.#parts;
    const refused = error instanceof RefusedRequest ? error.row : undefined;
    if (refused?.event) {
      emitRefusal({
        reason: refused.event,
        subject: refusalSubject(exchange),
        target: exchange.pattern,
        correlationId: exchange.correlationId,
      });
    }
    const unreadable = refused?.reason === 'PARSE_ERROR';
    const failure = exchange.fail(error, unreadable ? exchange.mount.parseEnvelope : undefined);
    if (failure.code === 'client_closed') {
      log.debug({ correlation_id: exchange.correlationId, path: exchange.pattern }, 'a client left');
      return;
    }
    // The stop itself tells of it.
    if (failure.code === 'server_shutdown') return;
    if (!failure.unexpected && !(error instanceof MortiseError && error.cause !== undefined)) return;
    const fields = {
      correlation_id: exchange.correlationId,
      path: exchange.pattern,
      code: failure.code,
      fault: errorFacts(error),
    };
    if (failure.status >= 500) log.error(fields, 'a request failed');
    else log.debug(fields, 'a request was refused');
  }

  #answerOptions(exchange: Exchange, match: Match, target: RequestTarget): void {
    const open = exchange.mount.cors === 'open';
    if (match.kind === 'wrong-method') exchange.headers.Allow = match.allow;
    else if (target.path !== '*' && !('route' in this.#parts.table().find('GET', target.path))) {
      this.requireServed(match, exchange);
    }
    if (open && !isPreflight(exchange.request)) {
      exchange.send({ body: { ok: true, correlation_id: exchange.correlationId } });
    } else {
      exchange.send({ status: 204 });
    }
  }

  async #serveRoute(exchange: Exchange, { route, captures }: Served<'route'>, target: RequestTarget): Promise<void> {
    const invoke = this.admitTo(route, exchange);
    const taken = takeBody(exchange);
    const body = taken instanceof Promise ? await taken : taken;
    const request = new PluginRequest(exchange, route, captures, target, body.bytes, body.value);
    await invoke.call((contribution, call: CallContext) => {
      if (!('handle' in contribution)) throw notServed(route);
      const answer = contribution.handle(request, new RouteCall(call, exchange));
      return 'then' in answer ? answer.then((given) => exchange.send(given)) : exchange.send(answer);
    }, this.callOptions(exchange));
  }

  async #serveStatic(exchange: Exchange, { route, rest, declaredPath }: Served<'static'>): Promise<void> {
    const { request } = exchange;
    const { enabled, plugin } = route.mounted;
    // Every unknown path ends here: only those that would have been a page are the disabled plugin's.
    if (!enabled) throw acceptsHtml(request) ? this.#disabled(plugin, exchange) : new RefusedRequest('not_found');
    const invoke = this.admitTo(route, exchange);
    await invoke.call(async (contribution) => {
      if (!('folder' in contribution)) throw notServed(route);
      const answer = await serveStatic(contribution, rest, request, declaredPath);
      if (!answer) throw new RefusedRequest('not_found');
      await exchange.send(answer);
    }, this.callOptions(exchange));
  }

  /** The platform's own 404, whatever the API of the plugin that is not there. */
  #disabled(plugin: string, exchange: Exchange): RefusedRequest {
    exchange.mount = { ...this.#parts.fallbackMount, cors: exchange.mount.cors };
    return new RefusedRequest('not_found', { hint: `plugin ${plugin} is disabled` });
  }
}

function upgradeRequired(exchange: Exchange): RefusedRequest {
  exchange.headers.Upgrade = 'websocket';
  return new RefusedRequest('upgrade_required');
}

function notServed({ mounted, pattern }: TableRoute): MortiseError {
  const { kind, name } = mounted.declaration;
  return new MortiseError('route_mismatch', `the contribution "${name}" does not serve ${pattern} as ${kind}`);
}
