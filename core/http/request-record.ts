import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Histogram } from '../sdk/host/metrics.js';
import type { Counter, Logger, MortiseError } from '../sdk/index.js';
import type { HostMetrics } from '../telemetry/index.js';
import { readClientAddress } from './caller.js';
import { Exchange, type ExchangeSettings } from './exchange.js';

interface RequestRecordDeps {
  readonly exchanges: ExchangeSettings;
  readonly trustProxy: boolean;
  readonly inFlight: InFlight;
  readonly log: Logger;
  readonly metrics: Pick<HostMetrics, 'httpRequests' | 'httpDuration'> | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Status of a request whose client left before it was answered; never sent. */
const clientClosed = 499;
const sourcePattern = /^[a-z][a-z0-9-]{0,31}$/;

/**
 * Opens a record for each request, and closes it with its response: one log line and two metrics, which contain nothing
 * from the caller except the ids.
 */
export class RequestRecords {
  readonly #deps: RequestRecordDeps;
  readonly #open = new WeakMap<Duplex, Exchange>();
  readonly #measure: Measure;

  constructor(deps: RequestRecordDeps) {
    this.#deps = deps;
    this.#measure = createMeasure(deps.metrics);
  }

  open(request: IncomingMessage, response: ServerResponse): Exchange {
    const { exchanges, inFlight, now, trustProxy } = this.#deps;
    const client = readClientAddress(request, trustProxy);
    const exchange = new Exchange(request, response, client, now(), exchanges);
    const ongoing = {
      abort: (reason: MortiseError) => exchange.abort(reason),
      cut: () => exchange.cut(),
    };
    inFlight.add(ongoing);
    this.#open.set(request.socket, exchange);
    response.once('close', () => {
      inFlight.remove(ongoing);
      if (this.#open.get(request.socket) === exchange) this.#open.delete(request.socket);
      if (!response.writableFinished && !exchange.upgraded) exchange.leave();
      this.#write(exchange, now() - exchange.startedAt);
    });
    return exchange;
  }

  /** The current request of a connection. */
  openOn(socket: Duplex): Exchange | undefined {
    return this.#open.get(socket);
  }

  #write(exchange: Exchange, durationMs: number): void {
    const { log } = this.#deps;
    const { request, response, match, correlationId, requestId, failedWith } = exchange;
    const method = request.method ?? '';
    const answered = exchange.begun ? response.statusCode : clientClosed;
    const status = exchange.upgraded ? 101 : answered;
    this.#measure(match.pattern, method, status, durationMs);
    const source = request.headers['x-nextai-source'];
    const fields = {
      correlation_id: correlationId,
      request_id: requestId,
      method,
      path: match.pattern,
      status,
      duration_ms: Math.round(durationMs * 100) / 100,
      ...(failedWith !== undefined && { code: failedWith }),
      ...(typeof source === 'string' && sourcePattern.test(source) && { source }),
    };
    if (status >= 500) log.warn(fields, 'request');
    else log.info(fields, 'request');
  }
}

type Measure = (route: string, method: string, status: number, durationMs: number) => void;

/** Metrics of one method of a route, bound once: building their labels for each request costs more than counting. */
interface RouteMeasures {
  readonly duration: ReturnType<Histogram['bind']>;
  readonly statuses: Map<number, ReturnType<Counter['bind']>>;
}

function createMeasure(metrics: RequestRecordDeps['metrics']): Measure {
  if (!metrics) return () => undefined;
  const byRoute = new Map<string, Map<string, RouteMeasures>>();
  return (route, method, status, durationMs) => {
    let methods = byRoute.get(route);
    if (!methods) {
      methods = new Map();
      byRoute.set(route, methods);
    }
    let measures = methods.get(method);
    if (!measures) {
      measures = { duration: metrics.httpDuration.bind({ route, method }), statuses: new Map() };
      methods.set(method, measures);
    }
    let requests = measures.statuses.get(status);
    if (!requests) {
      requests = metrics.httpRequests.bind({ route, method, status: String(status) });
      measures.statuses.set(status, requests);
    }
    requests.add();
    measures.duration.record(durationMs / 1000);
  };
}

/** Something that a shutdown waits for. */
interface Ongoing {
  /** Requests its end. */
  abort(reason: MortiseError): void;
  /** Ends it at once; a second call disconnects. */
  cut(): void;
}

/** The open requests and sockets. */
export class InFlight {
  readonly #ongoing = new Set<Ongoing>();
  #waiting: (() => void)[] = [];

  get size(): number {
    return this.#ongoing.size;
  }

  add(ongoing: Ongoing): void {
    this.#ongoing.add(ongoing);
  }

  remove(ongoing: Ongoing): void {
    this.#ongoing.delete(ongoing);
    if (this.#ongoing.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** True once nothing is open, false after `ms` milliseconds. */
  whenEmpty(ms: number): Promise<boolean> {
    if (this.#ongoing.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const empty = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(
        () => {
          this.#waiting = this.#waiting.filter((waiting) => waiting !== empty);
          resolve(false);
        },
        Math.max(0, ms),
      );
      this.#waiting.push(empty);
    });
  }

  abortAll(reason: MortiseError): void {
    for (const ongoing of [...this.#ongoing]) ongoing.abort(reason);
  }

  cutAll(): void {
    for (const ongoing of [...this.#ongoing]) ongoing.cut();
  }
}
