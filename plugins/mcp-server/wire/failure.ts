import { maskDeep, redactSecrets } from 'mortise/sdk';
import type { JsonObject } from './json.js';
import type { Era } from './versions.js';

export type Category = 'protocol' | 'validation' | 'business' | 'dependency' | 'internal';

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

/** Every reason the endpoint answers with: its JSON-RPC code, category, and whether the same call may be tried again. */
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

/** Numbers that the stateless revision leaves to its own use, and what stands for them there. */
const statelessCodes: Readonly<Record<number, { readonly code: number; readonly name: string }>> = {
  [-32000]: { code: -31000, name: 'TOOL_EXECUTION_ERROR' },
  [-32001]: { code: -31001, name: 'DEPENDENCY_UNAVAILABLE' },
  [-32002]: { code: -31002, name: 'BUSINESS_REJECTION' },
};

export interface FailureOptions {
  readonly details?: JsonObject;
  /** Members of `error.data` beside the usual ones: `supported`, `requiredCapabilities`, `uri`. */
  readonly data?: JsonObject;
  /** HTTP status where the reason's own does not fit. */
  readonly status?: number;
  readonly retryable?: boolean;
  readonly retryAfterSeconds?: number;
}

/** A request that is answered with a JSON-RPC error. */
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
   * HTTP status of the answer. Between sessions only unreadable requests, lost sessions and rate limits are anything but
   * 200; the stateless revision also says 404 for an unknown method and 400 for what its headers or capabilities break.
   */
  status(era: Era): number {
    if (this.options.status !== undefined) return this.options.status;
    const row: ReasonRow = reasons[this.reason];
    if (era === 'stateless') return this.reason === 'METHOD_NOT_FOUND' ? 404 : (row.status ?? 200);
    const ownOfStateless = row.code <= -32020 && row.code >= -32099;
    return ownOfStateless ? 200 : (row.status ?? 200);
  }
}

/** The `error` member of an answer, with everything that looks like a secret taken out. */
export function errorObject(failure: RpcFailure, era: Era, correlationId: string): JsonObject {
  const row: ReasonRow = reasons[failure.reason];
  const renamed = era === 'stateless' ? statelessCodes[row.code] : undefined;
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

/** Names that come from a request, short enough to repeat. */
export function shown(name: string): string {
  return redactSecrets(name.length > 128 ? `${name.slice(0, 127)}…` : name);
}
