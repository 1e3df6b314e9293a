import { type JsonObject, maskDeep, redactSecrets } from 'mortise/sdk';
import type { Mode } from './protocol.js';

type Category = 'protocol' | 'validation' | 'business' | 'dependency' | 'internal';

interface ReasonRow {
  readonly code: number;
  readonly category: Category;
  readonly retryable?: true;
  /** HTTP status where it is not 200. */
  readonly status?: number;
}

const parse = { code: -32700, category: 'protocol', status: 400 } as const;
const request = { code: -32600, category: 'protocol', status: 400 } as const;
const params = { code: -32602, category: 'validation' } as const;
const internal = { code: -32603, category: 'internal' } as const;
const execution = { code: -32000, category: 'internal' } as const;
const dependency = { code: -32001, category: 'dependency', retryable: true } as const;
const business = { code: -32002, category: 'business' } as const;

/** Every reason of an error response: its JSON-RPC code, category, and whether the same call may be retried. */
export const reasons = {
  PARSE_ERROR: parse,
  INVALID_REQUEST: request,
  SESSION_NOT_FOUND: { ...request, status: 404 },
  METHOD_NOT_FOUND: { code: -32601, category: 'protocol' },
  MISSING_REQUIRED_PARAM: params,
  INVALID_PARAM_TYPE: params,
  INVALID_PARAM_VALUE: params,
  UNKNOWN_TOOL: params,
  INTERNAL_ERROR: internal,
  UNHANDLED_EXCEPTION: internal,
  TOOL_EXECUTOR_NOT_REGISTERED: internal,
  TOOL_TIMEOUT: execution,
  TOOL_EXECUTION_FAILED: execution,
  OPENMEMORY_UNAVAILABLE: dependency,
  OPENMEMORY_CONNECTION_FAILED: dependency,
  OPENMEMORY_API_ERROR: dependency,
  LOGBOOK_DB_UNAVAILABLE: dependency,
  LOGBOOK_DB_CHECK_FAILED: { code: -32001, category: 'dependency' },
  RATE_LIMITED: { ...dependency, status: 429 },
  POLICY_REJECT: business,
  AUTH_FAILED: business,
  ACTOR_UNKNOWN: business,
  ACTOR_MISMATCH: business,
  SPACE_FORBIDDEN: business,
  GOVERNANCE_UPDATE_DENIED: business,
  HEADER_MISMATCH: { code: -32020, category: 'protocol', status: 400 },
  MISSING_CLIENT_CAPABILITY: { code: -32021, category: 'protocol', status: 400 },
  UNSUPPORTED_PROTOCOL_VERSION: { code: -32022, category: 'protocol', status: 400 },
} as const satisfies Record<string, ReasonRow>;

export type Reason = keyof typeof reasons;

export function isReason(code: string): code is Reason {
  return Object.hasOwn(reasons, code);
}

/** The stateless revision reserves -32000 to -32019 for itself: these codes are sent instead. */
const statelessCodes: Readonly<Record<number, { readonly code: number; readonly name: string }>> = {
  [-32000]: { code: -31000, name: 'TOOL_EXECUTION_ERROR' },
  [-32001]: { code: -31001, name: 'DEPENDENCY_UNAVAILABLE' },
  [-32002]: { code: -31002, name: 'BUSINESS_REJECTION' },
};

interface FailureOptions {
  readonly details?: JsonObject;
  /** Further members of `error.data`: `supported`, `requiredCapabilities`, `uri`. */
  readonly data?: JsonObject;
  /** HTTP status instead of the reason's own. */
  readonly status?: number;
  readonly retryable?: boolean;
  readonly retryAfterSeconds?: number;
}

/** A request that gets a JSON-RPC error. */
export class RpcFailure extends Error {
  readonly reason: Reason;
  readonly options: FailureOptions;

  constructor(reason: Reason, message: string, options: FailureOptions = {}) {
    super(message);
    this.name = 'RpcFailure';
    this.reason = reason;
    this.options = options;
  }

  get retryable(): boolean {
    const row: ReasonRow = reasons[this.reason];
    return this.options.retryable ?? row.retryable === true;
  }

  /**
   * HTTP status of the response. In session mode it is 200 except for invalid requests, unknown sessions and rate
   * limits; the stateless mode also uses 404 for an unknown method and 400 for faults of headers and capabilities.
   */
  status(mode: Mode): number {
    if (this.options.status !== undefined) return this.options.status;
    const row: ReasonRow = reasons[this.reason];
    if (mode === 'stateless') return this.reason === 'METHOD_NOT_FOUND' ? 404 : (row.status ?? 200);
    const isStatelessOnly = row.code <= -32020 && row.code >= -32099;
    return isStatelessOnly ? 200 : (row.status ?? 200);
  }
}

/** The `error` member of a response, with everything that looks like a secret redacted. */
export function errorObject(failure: RpcFailure, mode: Mode, correlationId: string): JsonObject {
  const row: ReasonRow = reasons[failure.reason];
  const renamed = mode === 'stateless' ? statelessCodes[row.code] : undefined;
  return {
    code: renamed?.code ?? row.code,
    message: redactSecrets(failure.message),
    data: {
      category: row.category,
      reason: failure.reason,
      retryable: failure.retryable,
      correlation_id: correlationId,
      details: maskDeep(failure.options.details ?? {}),
      ...(renamed && { code_name: renamed.name }),
      ...failure.options.data,
    },
  };
}

/** A name from a request, redacted and shortened to 128 characters, for use in messages. */
export function shown(name: string): string {
  return redactSecrets(name.length > 128 ? `${name.slice(0, 127)}…` : name);
}
