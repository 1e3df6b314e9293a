import type { Duplex } from 'node:stream';
import { acceptRequestId, newCorrelationId } from '../telemetry/index.js';
import { defaultEnvelope, toFailure } from './envelope.js';
import type { Exchange } from './exchange.js';
import { STATUS_CODES } from './node-http.js';
import { type RefusalName, RefusedRequest } from './refusals.js';

/** Parser errors with their own answer; every other one is `malformed_request`. */
const answers: Readonly<Record<string, RefusalName>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * Answers input that is no HTTP request, or a request that broke off, and closes the connection. `exchange` is the one
 * that is open on it.
 */
export function answerConnectionError(
  error: Error & { code?: string },
  socket: Duplex,
  exchange: Exchange | undefined,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable || exchange?.begun) {
    socket.destroy();
    return;
  }
  const refusal = new RefusedRequest(answers[error.code ?? ''] ?? 'malformed_request');
  if (exchange) {
    exchange.headers.Connection = 'close';
    exchange.fail(refusal);
  } else socket.end(rawAnswer(refusal), () => socket.destroy());
}

function rawAnswer(refusal: RefusedRequest): string {
  const failure = toFailure(refusal);
  const ids = { correlationId: newCorrelationId(), requestId: acceptRequestId(undefined) };
  const body = JSON.stringify(defaultEnvelope(failure, ids));
  return [
    `HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status] ?? ''}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Correlation-ID: ${ids.correlationId}`,
    `X-Request-Id: ${ids.requestId}`,
    '',
    body,
  ].join('\r\n');
}
