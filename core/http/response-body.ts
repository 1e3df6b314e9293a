import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RouteResponse } from '../sdk/index.js';
import { validateHeaderName, validateHeaderValue } from './node-http.js';

export type ResponseHeaders = Record<string, string | string[]>;

/** Headers that belong to the connection or to the host, never to a plugin. */
const hostHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-correlation-id',
  'x-request-id',
]);

/** Spellings that the host writes itself, so that no header is sent twice in two spellings. */
const knownNames: Readonly<Record<string, string>> = {
  'content-type': 'Content-Type',
  'content-length': 'Content-Length',
  'cache-control': 'Cache-Control',
  vary: 'Vary',
  allow: 'Allow',
  'retry-after': 'Retry-After',
  'www-authenticate': 'WWW-Authenticate',
  'x-accel-buffering': 'X-Accel-Buffering',
  'x-content-type-options': 'X-Content-Type-Options',
};

/**
 * Adds a plugin's headers to those of the host.
 * @throws TypeError for invalid names, and for values with line breaks.
 */
export function setResponseHeaders(headers: ResponseHeaders, given: RouteResponse['headers']): void {
  if (!given) return;
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (hostHeaders.has(lower)) continue;
    if (headers['Access-Control-Allow-Origin'] !== undefined && lower.startsWith('access-control-')) continue;
    validateHeaderName(name);
    for (const one of typeof value === 'string' ? [value] : value) validateHeaderValue(name, one);
    const known = knownNames[lower] ?? name;
    if (known === 'Vary' && headers.Vary !== undefined) headers.Vary = [headers.Vary, value].flat().join(', ');
    else headers[known] = typeof value === 'string' ? value : [...value];
  }
}

/**
 * Encodes a body and sets its length, and its type where the plugin gave none: strings are text, bytes are bytes,
 * everything else is JSON. `undefined` is no body.
 * @throws TypeError for values that JSON cannot hold.
 */
export function encodeBody(body: unknown, status: number, headers: ResponseHeaders): string | Uint8Array | undefined {
  if (status === 204 || status === 304 || status < 200) {
    delete headers['Content-Length'];
    return undefined;
  }
  if (body === undefined) {
    headers['Content-Length'] = '0';
    return undefined;
  }
  if (typeof body === 'string') {
    headers['Content-Type'] ??= 'text/plain; charset=utf-8';
    headers['Content-Length'] = String(Buffer.byteLength(body));
    return body;
  }
  if (body instanceof Uint8Array) {
    headers['Content-Type'] ??= 'application/octet-stream';
    headers['Content-Length'] = String(body.byteLength);
    return body;
  }
  const json = JSON.stringify(body);
  if (json === undefined) throw new TypeError('a response body must be a string, bytes or a JSON value');
  headers['Content-Type'] ??= 'application/json';
  headers['Content-Length'] = String(Buffer.byteLength(json));
  return json;
}

/** How much of an unread body is discarded, and for how long, before the connection is closed. */
const lingerBytes = 8 * 1024 * 1024;
const lingerMs = 2_000;

/**
 * Answers a request whose body is not read, and discards input for a moment: closing a connection with unread bytes
 * resets it, and a client that is still sending would lose the answer.
 */
export function sendAndLinger(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: ResponseHeaders,
  body: string | Uint8Array | undefined,
): void {
  headers.Connection = 'close';
  response.writeHead(status, headers);
  if (body === undefined) response.flushHeaders();
  else response.write(body);
  let left = lingerBytes;
  const finish = () => {
    clearTimeout(timer);
    request.off('data', discard).off('end', finish).off('close', finish);
    if (!response.writableEnded) response.end();
  };
  const discard = (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) finish();
  };
  const timer = setTimeout(finish, lingerMs);
  request.on('data', discard).on('end', finish).on('close', finish);
  request.resume();
}
