import type { Duplex } from 'node:stream';
import { type Logger, MortiseError, type Refusal } from '../sdk/index.js';
import { acceptRequestId, newCorrelationId } from '../telemetry/index.js';
import { refusalSubject } from './caller.js';
import { defaultEnvelope, type Envelope, toFailure } from './envelope.js';
import type { Exchange } from './exchange.js';
import type { Mount } from './mounts.js';
import { STATUS_CODES } from './node-http.js';
import { type RefusalName, RefusedRequest } from './refusals.js';

/** Answers a request with what was thrown, in the envelope of its mount; emits refusals and logs unexpected errors. */
export function answerError(
  exchange: Exchange,
  error: unknown,
  emitRefusal: (refusal: Refusal) => void,
  log: Logger,
): void {
  const { correlationId, match, mount } = exchange;
  const refused = error instanceof RefusedRequest ? error.row : undefined;
  if (refused?.event) {
    emitRefusal({
      reason: refused.event,
      subject: refusalSubject(exchange),
      target: match.pattern,
      correlationId,
    });
  }
  const failure = exchange.fail(error, envelopeOf(error, mount));
  if (failure.code === 'client_closed') {
    log.debug({ correlation_id: correlationId, path: match.pattern }, 'a client left');
    return;
  }
  // The shutdown is logged once, not per request.
  if (failure.code === 'server_shutdown') return;
  if (!failure.unexpected && !(error instanceof MortiseError && error.cause !== undefined)) return;
  const fields = {
    correlation_id: correlationId,
    path: match.pattern,
    code: failure.code,
    fault: errorFacts(error),
  };
  if (failure.status >= 500) log.error(fields, 'a request failed');
  else log.debug(fields, 'a request was refused');
}

function envelopeOf(error: unknown, { envelope, parseEnvelope, unavailableEnvelope }: Mount): Envelope {
  if (error instanceof RefusedRequest && error.row.reason === 'PARSE_ERROR') return parseEnvelope;
  return error instanceof MortiseError && error.status === 503 ? unavailableEnvelope : envelope;
}

/** After the upgrade no HTTP answer is possible; the error is only logged. */
export function logSocketError(log: Logger, { correlationId }: Exchange, error: unknown): void {
  const code = error instanceof MortiseError ? error.code : 'internal_error';
  log.debug({ correlation_id: correlationId, code }, 'a socket ended with an error');
}

/** Parser errors with their own answer; every other one is `malformed_request`. */
const answers: Readonly<Record<string, RefusalName>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * Answers input that is no HTTP request, or an incomplete request, and closes the connection. `exchange` is the one
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

const maxCauseDepth = 3;

/**
 * What the log may contain of an unexpected error: its type, its code and where it was thrown. Never its message, which
 * often quotes user input.
 */
export function errorFacts(error: unknown, depth = 0): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { type: typeof error };
  const code: unknown = Reflect.get(error, 'code');
  return {
    type: error.name,
    ...(typeof code === 'string' && { code }),
    frames: (error.stack ?? '')
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .slice(0, 12)
      .map((line) => line.trim()),
    ...(error.cause !== undefined && depth < maxCauseDepth && { cause: errorFacts(error.cause, depth + 1) }),
  };
}
