import { MortiseError, type MortiseErrorOptions, type Refusal } from '../sdk/index.js';

/** A refusal of a request by the host, before a plugin sees it. */
export interface RefusalRow {
  /** `{code}` of an error envelope. */
  readonly code: string;
  /** `{reason}` of an error envelope. */
  readonly reason: string;
  readonly status: number;
  readonly sentence: string;
  /** Reason of the `refusal` event; absent for refusals that are not audited. */
  readonly event?: Refusal['reason'];
}

const rows = {
  shutting_down: {
    code: 'shutting_down',
    reason: 'SHUTTING_DOWN',
    status: 503,
    sentence: 'the server is shutting down',
  },
  host_not_allowed: {
    code: 'host_not_allowed',
    reason: 'HOST_NOT_ALLOWED',
    status: 403,
    sentence: 'the Host header names no address of this server',
    event: 'host_refused',
  },
  origin_not_allowed: {
    code: 'origin_not_allowed',
    reason: 'ORIGIN_NOT_ALLOWED',
    status: 403,
    sentence: 'the Origin is not allowed',
    event: 'origin_refused',
  },
  bad_target: {
    code: 'invalid_request',
    reason: 'INVALID_REQUEST',
    status: 400,
    sentence: 'the request target is malformed',
  },
  not_found: { code: 'not_found', reason: 'NOT_FOUND', status: 404, sentence: 'route not found' },
  method_not_allowed: {
    code: 'method_not_allowed',
    reason: 'METHOD_NOT_ALLOWED',
    status: 405,
    sentence: 'method not allowed',
  },
  plugin_unavailable: {
    code: 'plugin_unavailable',
    reason: 'PLUGIN_UNAVAILABLE',
    status: 503,
    sentence: 'the plugin that serves this route is not running',
  },
  upgrade_required: {
    code: 'upgrade_required',
    reason: 'UPGRADE_REQUIRED',
    status: 426,
    sentence: 'this path accepts WebSocket connections only',
  },
  upgrade_unsupported: {
    code: 'invalid_request',
    reason: 'INVALID_REQUEST',
    status: 400,
    sentence: 'this path cannot be upgraded',
  },
  bad_handshake: {
    code: 'invalid_request',
    reason: 'INVALID_REQUEST',
    status: 400,
    sentence: 'the WebSocket handshake is malformed',
  },
  unauthorized: {
    code: 'unauthorized',
    reason: 'AUTH_FAILED',
    status: 401,
    sentence: 'missing or invalid api key',
    event: 'auth_failed',
  },
  auth_rate_limited: {
    code: 'auth_rate_limited',
    reason: 'AUTH_RATE_LIMITED',
    status: 429,
    sentence: 'too many failed authentications from this address',
    event: 'rate_limited',
  },
  admin_required: {
    code: 'admin_required',
    reason: 'ADMIN_REQUIRED',
    status: 403,
    sentence: 'this action needs the admin right',
    event: 'admin_required',
  },
  rate_limited: {
    code: 'rate_limited',
    reason: 'RATE_LIMITED',
    status: 429,
    sentence: 'too many requests',
    event: 'rate_limited',
  },
  payload_too_large: {
    code: 'payload_too_large',
    reason: 'PAYLOAD_TOO_LARGE',
    status: 413,
    sentence: 'the request body is too large',
  },
  unsupported_media_type: {
    code: 'unsupported_media_type',
    reason: 'UNSUPPORTED_MEDIA_TYPE',
    status: 415,
    sentence: 'the content type of the request body is not supported',
  },
  json_syntax: { code: 'invalid_json', reason: 'PARSE_ERROR', status: 400, sentence: 'invalid request body' },
  json_encoding: { code: 'invalid_json', reason: 'PARSE_ERROR', status: 400, sentence: 'invalid request body' },
  json_depth: { code: 'invalid_json', reason: 'INVALID_REQUEST', status: 400, sentence: 'invalid request body' },
  malformed_request: {
    code: 'invalid_request',
    reason: 'INVALID_REQUEST',
    status: 400,
    sentence: 'the request is not valid HTTP',
  },
  headers_too_large: {
    code: 'headers_too_large',
    reason: 'HEADERS_TOO_LARGE',
    status: 431,
    sentence: 'the request headers are too large',
  },
  request_timeout: {
    code: 'request_timeout',
    reason: 'REQUEST_TIMEOUT',
    status: 408,
    sentence: 'the request did not arrive in time',
  },
  internal_error: {
    code: 'internal_error',
    reason: 'INTERNAL_ERROR',
    status: 500,
    sentence: 'internal error',
  },
} as const satisfies Readonly<Record<string, RefusalRow>>;

export type RefusalName = keyof typeof rows;

/** Every error that the host itself returns, by name. */
export const refusalRows: Readonly<Record<RefusalName, RefusalRow>> = rows;

/** A request refused by the host. */
export class RefusedRequest extends MortiseError {
  readonly row: RefusalRow;

  constructor(refusal: RefusalName | RefusalRow, options: MortiseErrorOptions = {}) {
    const row = typeof refusal === 'string' ? refusalRows[refusal] : refusal;
    super(row.code, row.sentence, { ...options, status: row.status });
    this.row = row;
  }
}
