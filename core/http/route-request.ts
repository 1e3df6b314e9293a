import type { IncomingHttpHeaders } from 'node:http';
import { type CallContext, CallView, type RouteContext, type RouteRequest } from '../sdk/index.js';
import type { Exchange } from './exchange.js';
import { decodeParams, type RequestTarget } from './request-target.js';
import { setResponseHeaders } from './response-body.js';
import type { TableRoute } from './table-route.js';

const noBytes = new Uint8Array(0);

/** The request as its plugin sees it. */
export class PluginRequest implements RouteRequest {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
  readonly rawBody: Uint8Array;
  readonly remoteAddress: string;
  readonly #rawQuery: string;
  #query: URLSearchParams | undefined;

  constructor(
    exchange: Exchange,
    route: TableRoute,
    captures: readonly string[],
    target: RequestTarget,
    rawBody: Uint8Array = noBytes,
    body?: unknown,
  ) {
    const { method = 'GET' } = exchange.request;
    // HEAD is a GET whose body the host leaves out: a handler need not know it.
    this.method = method === 'HEAD' ? 'GET' : method;
    this.path = target.path;
    this.params = decodeParams(route.paramNames, captures);
    this.headers = plainHeaders(exchange.request.headers);
    this.body = body;
    this.rawBody = rawBody;
    this.remoteAddress = exchange.client.address;
    this.#rawQuery = target.query;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#rawQuery);
    return this.#query;
  }
}

/** The context of a route: the lease's own, with a way to the response's headers. */
export class RouteCall extends CallView implements RouteContext {
  readonly #exchange: Exchange;

  constructor(call: CallContext, exchange: Exchange) {
    super(call);
    this.#exchange = exchange;
  }

  setHeader(name: string, value: string): void {
    setResponseHeaders(this.#exchange.headers, { [name]: value });
  }
}

/** Only `set-cookie` can be a list, and no client sends it. */
export function plainHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string | undefined>> {
  delete headers['set-cookie'];
  return headers as Readonly<Record<string, string | undefined>>;
}
