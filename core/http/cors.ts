import type { IncomingMessage } from 'node:http';
import type { CorsRule } from '../sdk/manifest.js';
import type { ResponseHeaders } from './response-body.js';

// Not @koa/cors: it has one rule per application and other headers for preflights than for answers. Here the rule comes
// with the route's mount, and the headers of a mount are on every response.

const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const maxRequestedHeaders = 32;
/** Not for pages of any origin: a page may not act with the admin right of its visitor. */
const reservedHeaders: ReadonlySet<string> = new Set(['x-admin-key']);

/** Adds the CORS headers of a mount to a response. `listed` contains the origins that pages may call from. */
export function addCorsHeaders(
  headers: ResponseHeaders,
  rule: CorsRule | undefined,
  request: IncomingMessage,
  listed: ReadonlySet<string>,
): void {
  if (!rule) return;
  if (rule.origins === 'any') headers['Access-Control-Allow-Origin'] = '*';
  else {
    if (listed.size === 0) return;
    headers.Vary = 'Origin';
    const { origin } = request.headers;
    if (origin === undefined || !listed.has(origin)) return;
    headers['Access-Control-Allow-Origin'] = origin;
  }
  const preflight = isPreflight(request);
  headers['Access-Control-Allow-Methods'] = preflight ? requestedMethods(rule, request) : rule.methods;
  headers['Access-Control-Allow-Headers'] = preflight ? requestedHeaders(rule, request) : rule.headers;
  headers['Access-Control-Expose-Headers'] = rule.exposed;
  if (rule.maxAgeSeconds !== undefined) headers['Access-Control-Max-Age'] = String(rule.maxAgeSeconds);
}

/** An OPTIONS request with which a browser asks whether it may send the actual one. */
export function isPreflight(request: IncomingMessage): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
}

function requestedMethods({ methods, requestableMethods = [] }: CorsRule, request: IncomingMessage): string {
  const requested = request.headers['access-control-request-method'] ?? '';
  return requestableMethods.includes(requested) ? `${methods}, ${requested}` : methods;
}

function requestedHeaders({ headers, anyHeader = false }: CorsRule, request: IncomingMessage): string {
  if (!anyHeader) return headers;
  const names = [headers];
  const known = new Set(headers.split(',').map((name) => name.trim().toLowerCase()));
  for (const part of (request.headers['access-control-request-headers'] ?? '').split(',', maxRequestedHeaders)) {
    const name = part.trim();
    if (!tokenPattern.test(name) || known.has(name.toLowerCase()) || reservedHeaders.has(name.toLowerCase())) continue;
    known.add(name.toLowerCase());
    names.push(name);
  }
  return names.join(', ');
}
