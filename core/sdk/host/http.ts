import type { CallContext } from '../context.js';

/** What a plugin may know of the HTTP side. Routes are contributions to the point `route`. */
export interface HttpService {
  /** `http://127.0.0.1:8088` once listening, else undefined. */
  readonly origin: string | undefined;
  /** Bound to a loopback address only. */
  readonly loopback: boolean;
  /** At least one API key or principal is configured. */
  readonly keyed: boolean;
  /** The actors that keys are bound to, each once. */
  readonly actors: readonly string[];
  /** The admin key is configured. */
  readonly adminKeyed: boolean;
  /** Compares in constant time; false while no admin key is configured. */
  isAdminKey(key: string): boolean;
  /**
   * Counts a call of a tool against the limit that its caller has for it, whatever endpoint it came through. A refusal is
   * audited like that of a request.
   * @throws MortiseError `RATE_LIMITED`, status 429, with `details.retry_after_ms`.
   */
  admitToolCall(tool: string, call: Pick<CallContext, 'principal' | 'correlationId'>): void;
  /** The process is shutting down and answers new requests with 503. */
  readonly draining: boolean;
}
