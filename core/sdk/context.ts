/** A structured log: fields first, then one English sentence without message text or secrets. */
export interface Logger {
  trace(fields: object | string, message?: string): void;
  debug(fields: object | string, message?: string): void;
  info(fields: object | string, message?: string): void;
  warn(fields: object | string, message?: string): void;
  error(fields: object | string, message?: string): void;
}

/** The caller of a call. Unknown members of a configured principal are in `claims`. */
export interface Principal {
  /** `local` without keys, `default` for the single key, the configured id otherwise, `system` for the platform itself. */
  readonly id: string;
  /** The actor (user) this principal is bound to. */
  readonly actor?: string;
  /** Globs of spaces that a bound principal may use in addition to its own private one. */
  readonly spaces?: readonly string[];
  /** May change plugins, configuration and policy. */
  readonly admin: boolean;
  /** The call arrived over loopback and was not forwarded by a proxy. */
  readonly loopback: boolean;
  /** Authenticated by a key (false: no key is configured, or the platform itself). */
  readonly authenticated: boolean;
  readonly claims?: Readonly<Record<string, unknown>>;
}

/**
 * The only user that a bound principal may name: its actor, or its own id when it is bound to spaces alone. Undefined for
 * a principal that may name every user.
 */
export function boundUser({ id, actor, spaces, admin }: Principal): string | undefined {
  return actor ?? (spaces === undefined || admin ? undefined : id);
}

/**
 * Whether a principal may see and change what is configured for all users: not one that is bound to a user, unless it has
 * the admin right.
 */
export function mayConfigure(principal: Principal): boolean {
  return principal.admin || boundUser(principal) === undefined;
}

/** The platform itself, for work that it starts on its own: without the admin right and without a user. */
export const platformPrincipal: Principal = Object.freeze({
  id: 'system',
  admin: false,
  loopback: false,
  authenticated: false,
});

/** W3C trace context of a call. */
export interface TraceContext {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

/** The last argument of every call into a plugin. */
export interface CallContext {
  /** Aborted when the caller is gone, the time limit has passed, or the plugin is stopped. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly principal: Principal;
  readonly requestId: string;
  /** `corr-` and 16 hex digits, made by the server, one per request. */
  readonly correlationId: string;
  readonly trace: TraceContext;
}

/**
 * Base class of contexts that extend a call context: its members are read from that context on access. A subclass that
 * adds members costs a fraction of `extendContext`, which accepts contexts of any kind.
 */
export class CallView implements CallContext {
  readonly #call: CallContext;

  constructor(call: CallContext) {
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get log(): Logger {
    return this.#call.log;
  }

  get principal(): Principal {
    return this.#call.principal;
  }

  get requestId(): string {
    return this.#call.requestId;
  }

  get correlationId(): string {
    return this.#call.correlationId;
  }

  get trace(): TraceContext {
    return this.#call.trace;
  }
}

// The prototype is shared by all calls: a plugin must not change it.
Object.freeze(CallView.prototype);

/**
 * Adds members to a call context without copying it, so that lazy members stay lazy.
 *
 * @example const toolContext = extendContext(ctx, { progress });
 */
export function extendContext<C extends object, E extends object>(ctx: C, extra: E): C & E {
  const extended = Object.create(ctx) as C & E;
  // A context may be an object with private members: its getters must run on the object itself, not on the derived one.
  for (const member of callMembers) {
    Object.defineProperty(extended, member, { get: () => (ctx as Partial<CallContext>)[member], configurable: true });
  }
  return Object.defineProperties(extended, Object.getOwnPropertyDescriptors(extra));
}

const callMembers = ['signal', 'log', 'principal', 'requestId', 'correlationId', 'trace'] as const;

/** A resource that is released once; further calls do nothing. */
export interface Disposable {
  dispose(): void | Promise<void>;
}
