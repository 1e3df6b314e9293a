import type { EnvelopeTemplate, ManifestMount } from '../../sdk/index.js';

const mebibyte = 1024 * 1024;

const refusal: EnvelopeTemplate = {
  ok: false,
  error: '{message}',
  detail: '{message}',
  reason: '{reason}',
  correlation_id: '{correlation_id}',
  details: '{details}',
  hint: '{hint}',
};

/** Mounts as manifests declare them, one of each kind. */
export const testMounts: readonly ManifestMount[] = [
  { name: 'files', badEscape: { code: 'invalid_path', message: 'invalid workspace file path' } },
  {
    name: 'upload',
    maxBytes: 20 * mebibyte,
    framingBytes: 64 * 1024,
    contentTypes: 'multipart',
    body: 'bytes',
  },
  {
    name: 'rest',
    envelope: refusal,
    maxDepth: 100,
    contentTypes: 'strict-json',
    cors: 'none',
    needsBody: true,
  },
  {
    name: 'rpc',
    prefix: '/rpc',
    envelope: refusal,
    parseEnvelope: {
      jsonrpc: '2.0',
      error: {
        code: { $from: 'reason', map: { PARSE_ERROR: -32700 }, default: -32600 },
        message: '{message}',
        data: {
          category: 'protocol',
          reason: '{reason}',
          retryable: '{retryable}',
          correlation_id: '{correlation_id}',
          details: { $from: 'details', default: {} },
        },
      },
    },
    maxBytes: {
      setting: 'evidence_bytes',
      plugin: 'evidence',
      factor: 1.5,
      add: 64 * 1024,
      minimum: 4 * mebibyte,
      maximum: 20 * mebibyte,
    },
    maxDepth: 100,
    contentTypes: 'lenient-json',
    body: 'text',
    optionsBody: { ok: true, correlation_id: '{correlation_id}' },
    cors: {
      origins: 'any',
      methods: 'POST, OPTIONS',
      requestableMethods: ['GET', 'DELETE'],
      headers: 'Content-Type, Authorization, Rpc-Session-Id',
      anyHeader: true,
      exposed: 'Rpc-Session-Id, X-Correlation-ID, X-Request-Id',
      maxAgeSeconds: 86_400,
    },
  },
  {
    name: 'typed',
    prefix: '/v1',
    maxBytes: 32 * mebibyte,
    envelope: {
      type: 'error',
      error: {
        type: {
          $from: 'status',
          map: { 400: 'invalid_request_error', 404: 'not_found_error', 429: 'rate_limit_error' },
          default: 'api_error',
        },
        message: '{message}',
        code: '{code}',
        details: '{details}',
        hint: '{hint}',
      },
      request_id: '{request_id}',
    },
  },
];
