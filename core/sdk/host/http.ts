import type { CallContext, Disposable, Principal } from '../context.js';

/** State and limits of the HTTP server. Routes are contributions to the point `route`. */
export interface HttpService {
  /** `http://127.0.0.1:8088` once the server listens, otherwise undefined. */
  readonly origin: string | undefined;
  /** Calls `run` once the server listens, immediately if it already does. Disposing cancels it. */
  onListening(run: () => void): Disposable;
  /** Bound to a loopback address only. */
  readonly loopback: boolean;
  /** At least one API key or principal is configured. */
  readonly keyed: boolean;
  /** The distinct actors that keys are bound to. */
  readonly actors: readonly string[];
  /**
   * A stored principal with the current rights of its key, without the admin right: for work that is done later for
   * the caller that requested it. Undefined when no key has its id any more; unchanged where no key was or is needed.
   */
  asConfigured(stored: Principal): Principal | undefined;
  /** The admin key is configured. */
  readonly adminKeyed: boolean;
  /** Compares in constant time; false when no admin key is configured. */
  isAdminKey(key: string): boolean;
  /** How a caller gets the admin right that a request lacks, in one sentence. */
  readonly adminHint: string;
  /**
   * Counts a tool call against its caller's limit for the tool, across all endpoints. A refusal is audited like that of
   * a request.
   * @throws MortiseError `RATE_LIMITED`, status 429, with `details.retry_after_ms`.
   */
  admitToolCall(tool: string, call: Pick<CallContext, 'principal' | 'correlationId'>): void;
  /** The process is shutting down and answers new requests with 503. */
  readonly draining: boolean;
}
