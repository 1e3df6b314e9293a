import type { IncomingHttpHeaders } from 'node:http';
import { type CallContext, CallView, type RouteContext, type RouteRequest } from '../sdk/index.js';
import type { Exchange } from './exchange.js';
import { RefusedRequest } from './refusals.js';
import { setResponseHeaders } from './response-body.js';
import type { ServedMatch } from './route-table.js';

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
  readonly rawQuery: string;
  #query: URLSearchParams | undefined;

  constructor(exchange: Exchange, { route, captures }: ServedMatch<'http' | 'upgrade'>) {
    const { method = 'GET' } = exchange.request;
    // HEAD reaches the handler as a GET whose body the host does not send.
    this.method = method === 'HEAD' ? 'GET' : method;
    this.path = exchange.target.path;
    this.params = decodeParams(route.paramNames, captures);
    this.headers = plainHeaders(exchange.request.headers);
    this.body = exchange.body.value;
    this.rawBody = exchange.body.bytes ?? noBytes;
    this.remoteAddress = exchange.client.address;
    this.rawQuery = exchange.target.query;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.rawQuery);
    return this.#query;
  }
}

/** The context of a route: that of the lease, with access to the headers of the response. */
export class RouteCall extends CallView implements RouteContext {
  readonly #exchange: Exchange;
  readonly #takeToken: (exchange: Exchange) => void;

  constructor(call: CallContext, exchange: Exchange, takeToken: (exchange: Exchange) => void) {
    super(call);
    this.#exchange = exchange;
    this.#takeToken = takeToken;
  }

  setHeader(name: string, value: string): void {
    setResponseHeaders(this.#exchange.headers, { [name]: value });
  }

  errorBody(error: unknown): unknown {
    return this.#exchange.errorBody(error);
  }

  limitRate(): void {
    this.#takeToken(this.#exchange);
  }
}

/** Only `set-cookie` can be a list, and clients do not send it. */
export function plainHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string | undefined>> {
  delete headers['set-cookie'];
  return headers as Readonly<Record<string, string | undefined>>;
}

/** Parameters by name, percent-decoded once. The path must be well formed. */
function decodeParams(names: readonly string[], captures: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const raw = captures[index];
    if (raw === undefined) throw new RefusedRequest('bad_target');
    params[name] = raw.includes('%') ? decodeURIComponent(raw) : raw;
  }
  return params;
}
