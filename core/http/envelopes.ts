import type { Failure } from './failure.js';

/** What identifies the answered request in an error body. */
export interface RequestIds {
  readonly requestId: string;
  readonly correlationId: string;
}

/** Turns a failure into the error body of one API. */
export type Envelope = (failure: Failure, ids: RequestIds) => Readonly<Record<string, unknown>>;

export type EnvelopeName = 'agent' | 'memory-rest' | 'json-rpc' | 'anthropic';

/** Claude's error types by status; every other status is `api_error`. */
const anthropicTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** The error bodies that the host can speak, by name. */
export const envelopes: Readonly<Record<EnvelopeName, Envelope>> = {
  agent: ({ code, message, details, hint }) => ({
    error: { code, message, ...(details && { details }), ...(hint !== undefined && { hint }) },
  }),

  'memory-rest': ({ reason, message, details, hint }, { correlationId }) => ({
    ok: false,
    error: message,
    detail: message,
    reason,
    correlation_id: correlationId,
    ...(details && { details }),
    ...(hint !== undefined && { hint }),
  }),

  'json-rpc': ({ message, details, reason, retryAfterSeconds }, { correlationId }) => ({
    jsonrpc: '2.0',
    error: {
      code: reason === 'PARSE_ERROR' ? -32700 : -32600,
      message,
      data: {
        category: 'protocol',
        reason,
        retryable: retryAfterSeconds !== undefined,
        correlation_id: correlationId,
        details: details ?? {},
      },
    },
  }),

  anthropic: ({ status, code, message, details, hint }, { requestId }) => ({
    type: 'error',
    error: {
      type: anthropicTypes[status] ?? 'api_error',
      message,
      code,
      ...(details && { details }),
      ...(hint !== undefined && { hint }),
    },
    request_id: requestId,
  }),
};
