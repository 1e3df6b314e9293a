import type { Duplex } from 'node:stream';
import { acceptRequestId, newCorrelationId } from '../telemetry/index.js';
import { envelopes } from './envelopes.js';
import type { Exchange } from './exchange.js';
import { toFailure } from './failure.js';
import { STATUS_CODES } from './node-http.js';
import { type RefusalName, RefusedRequest } from './refusal-rows.js';

/** Parser errors that have an answer of their own; every other one is `malformed_request`. */
const answers: Readonly<Record<string, RefusalName>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * Answers what never became a request, or broke off in the middle of one, in the platform's form, and ends the
 * connection. `exchange` is the one that is open on it.
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
  const body = JSON.stringify(envelopes.agent(failure, ids));
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
