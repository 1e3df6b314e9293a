import type { Counter, Histogram, Logger } from '../sdk/index.js';
import type { HostMetrics } from '../telemetry/index.js';
import type { Exchange } from './exchange.js';

/** Writes down a finished request: one log line and two metrics, without anything the caller wrote but his ids. */
export type RecordRequest = (exchange: Exchange, durationMs: number) => void;

/** Status of a request whose client left before it was answered; never on the wire. */
const clientClosed = 499;
const sourcePattern = /^[a-z][a-z0-9-]{0,31}$/;

/** Metrics of one method of a route, bound once: building their labels anew would cost more than the counting. */
interface RouteMeasures {
  readonly duration: ReturnType<Histogram['bind']>;
  readonly statuses: Map<number, ReturnType<Counter['bind']>>;
}

export function createRequestRecord(
  log: Logger,
  metrics: Pick<HostMetrics, 'httpRequests' | 'httpDuration'> | undefined,
): RecordRequest {
  const byRoute = new Map<string, Map<string, RouteMeasures>>();

  const measure = (route: string, method: string, status: number, durationMs: number) => {
    if (!metrics) return;
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

  return (exchange, durationMs) => {
    const { request, response, pattern, correlationId, requestId, failedWith } = exchange;
    const method = request.method ?? '';
    const answered = exchange.begun ? response.statusCode : clientClosed;
    const status = exchange.upgraded ? 101 : answered;
    measure(pattern, method, status, durationMs);
    const source = request.headers['x-nextai-source'];
    const fields = {
      correlation_id: correlationId,
      request_id: requestId,
      method,
      path: pattern,
      status,
      duration_ms: Math.round(durationMs * 100) / 100,
      ...(failedWith !== undefined && { code: failedWith }),
      ...(typeof source === 'string' && sourcePattern.test(source) && { source }),
    };
    if (status >= 500) log.warn(fields, 'request');
    else log.info(fields, 'request');
  };
}
