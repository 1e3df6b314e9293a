import type { CallContext, Principal } from '../context.js';

/** A request that the host has checked, size-limited and parsed. */
export interface RouteRequest {
  readonly method: string;
  /** Path without query, as sent. */
  readonly path: string;
  /** Decoded path parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The query as sent, without the question mark. */
  readonly rawQuery: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The JSON value, the decoded text or nothing, by the mount's `body`; undefined without a JSON body. */
  readonly body: unknown;
  /** The body's bytes as received (empty for none). */
  readonly rawBody: Uint8Array;
  /** Address of the client, resolved through trusted proxies. */
  readonly remoteAddress: string;
}

export interface RouteResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object or array is sent as JSON, a string as text/plain unless a content type is given; absent: no body. */
  readonly body?: unknown;
  /**
   * Streams the body: each chunk is flushed separately, a slow reader applies backpressure, and the
   * iterator is returned when the client disconnects. With `sse` the headers and keep-alive comments of a
   * server-sent event stream are added.
   */
  readonly stream?: AsyncIterable<string | Uint8Array>;
  readonly sse?: boolean;
  /** With `sse`: what is sent after an idle period instead of a comment; an empty text sends nothing. */
  readonly keepAlive?: string;
}

export interface Route {
  handle(request: RouteRequest, ctx: RouteContext): RouteResponse | Promise<RouteResponse>;
}

export interface RouteContext extends CallContext {
  /** Sets a header of the response, whether the handler returns or throws. */
  setHeader(name: string, value: string): void;
  /** The error body of the route's mount, for a stream that has begun. Aborted calls name the abort. */
  errorBody(error: unknown): unknown;
  /**
   * Counts the request against its caller's rate limit, for answers of a public route that are expensive. Requests of
   * all other routes are counted before the handler is called.
   * @throws MortiseError `rate_limited`, status 429
   */
  limitRate(): void;
}

/** An accepted WebSocket. */
export interface Socket {
  readonly id: string;
  readonly remoteAddress: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Bytes waiting to be sent. */
  readonly buffered: number;
  /** Authenticates a first frame by its key. Failures are counted by address and audited. */
  authenticate(key: string): SocketAuthentication;
  /** Audits that the socket did not authenticate with its first frame or in time. */
  unauthenticated(): void;
  /**
   * Counts a request on this socket against its caller's rate limit, across all endpoints. A refusal is audited.
   * @returns 0 when the request is admitted, otherwise the milliseconds until one is.
   */
  admit(principal: Principal): number;
  send(frame: string): void;
  close(code: number, reason?: string): void;
  /** Ends the connection without a closing handshake. */
  terminate(): void;
  ping(): void;
}

export type SocketAuthentication =
  | { readonly ok: true; readonly principal: Principal }
  /** `rate_limited`: too many failures from this address, regardless of the key. */
  | { readonly ok: false; readonly reason: 'auth_failed' | 'rate_limited' };

export interface SocketHandler {
  /** A whole text frame; binary frames arrive as bytes. */
  message(frame: string | Uint8Array): void;
  pong?(): void;
  close(code: number): void;
}

export interface UpgradeRoute {
  /** Largest accepted frame, bytes; larger ones close the socket with 1009. */
  readonly maxFrameBytes: number;
  /** Runs before the upgrade; a returned response refuses it. Requests with a wrong key in the headers are refused earlier. */
  before?(request: RouteRequest, ctx: CallContext): RouteResponse | undefined | Promise<RouteResponse | undefined>;
  /** Called after the upgrade. The lease of the route lasts until the socket closes. */
  open(socket: Socket, ctx: CallContext): SocketHandler;
}

export interface StaticRoute {
  /** Absolute path of the folder to serve. */
  readonly folder: string;
  /** Served for paths that name no file and accept HTML. */
  readonly fallback?: string;
  /** Cache lifetime in seconds of all files except pages. */
  readonly maxAge?: number;
  /** Added to every file, such as a content security policy. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type RouteContribution = Route | UpgradeRoute | StaticRoute;
