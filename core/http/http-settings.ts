/** Settings of the server; `http` of the host's settings has this shape. */
export interface HttpServerSettings {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly apiKey: string | undefined;
  readonly principals: readonly KeyedPrincipal[];
  readonly adminKey: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly rateLimit: RequestRate | undefined;
  /** By tool name. */
  readonly toolRateLimits: Readonly<Record<string, RequestRate>>;
  /** The client's address is the last one of `X-Forwarded-For`. */
  readonly trustProxy: boolean;
  /** Seconds; `write` 0 = no limit. */
  readonly timeouts: {
    /** Receiving the headers. */
    readonly readHeader: number;
    /** Receiving the whole request. */
    readonly read: number;
    /** Sending a response that is no event stream. */
    readonly write: number;
    /** Waiting for the next request on a connection. */
    readonly idle: number;
  };
}

/** Requests per caller: a bucket of `requests` that fills up in `seconds`. */
export interface RequestRate {
  readonly requests: number;
  readonly seconds: number;
}

/** A caller with its own key. */
export interface KeyedPrincipal {
  readonly key: string;
  readonly id: string;
  readonly actor?: string | undefined;
  readonly admin?: boolean | undefined;
  readonly spaces?: readonly string[] | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}
