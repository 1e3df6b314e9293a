import type { IncomingMessage } from 'node:http';
import type { CorsRule } from './mounts.js';
import type { ResponseHeaders } from './response-body.js';

const listedMethods = 'GET,POST,PUT,DELETE,OPTIONS';
const listedRequestHeaders =
  'Content-Type,Authorization,X-API-Key,X-Request-Id,X-Correlation-ID,X-NextAI-Source,Idempotency-Key';
const listedExposed = 'X-Correlation-ID,X-Request-Id,X-Turn-Id,X-Next-Cursor,X-Trace-Id,X-Gate-Action';
const openRequestHeaders = ['Content-Type', 'Authorization', 'Mcp-Session-Id'];
const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const mostRequestedHeaders = 32;

/** Adds a mount's CORS headers to a response. `listed` is the set of origins that pages may call from. */
export function addCorsHeaders(
  headers: ResponseHeaders,
  rule: CorsRule,
  request: IncomingMessage,
  listed: ReadonlySet<string>,
): void {
  if (rule === 'open') addOpenHeaders(headers, request);
  if (rule !== 'listed' || listed.size === 0) return;
  headers.Vary = 'Origin';
  const origin = request.headers.origin;
  if (origin === undefined || !listed.has(origin)) return;
  headers['Access-Control-Allow-Origin'] = origin;
  headers['Access-Control-Allow-Methods'] = listedMethods;
  headers['Access-Control-Allow-Headers'] = listedRequestHeaders;
  headers['Access-Control-Expose-Headers'] = listedExposed;
}

/** An OPTIONS request with which a browser asks whether it may send the real one. */
export function isPreflight(request: IncomingMessage): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
}

function addOpenHeaders(headers: ResponseHeaders, request: IncomingMessage): void {
  const preflight = isPreflight(request);
  headers['Access-Control-Allow-Origin'] = '*';
  headers['Access-Control-Allow-Methods'] = preflight ? openMethods(request) : 'POST, OPTIONS';
  headers['Access-Control-Allow-Headers'] = preflight ? openHeaders(request) : openRequestHeaders.join(', ');
  headers['Access-Control-Expose-Headers'] = 'Mcp-Session-Id, X-Correlation-ID, X-Request-Id';
  headers['Access-Control-Max-Age'] = '86400';
}

function openMethods(request: IncomingMessage): string {
  const asked = request.headers['access-control-request-method'];
  return asked === 'GET' || asked === 'DELETE' ? `POST, OPTIONS, ${asked}` : 'POST, OPTIONS';
}

function openHeaders(request: IncomingMessage): string {
  const names = [...openRequestHeaders];
  const known = new Set(names.map((name) => name.toLowerCase()));
  for (const part of (request.headers['access-control-request-headers'] ?? '').split(',', mostRequestedHeaders)) {
    const name = part.trim();
    if (!tokenPattern.test(name) || known.has(name.toLowerCase())) continue;
    known.add(name.toLowerCase());
    names.push(name);
  }
  return names.join(', ');
}
