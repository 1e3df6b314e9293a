import type { ServerResponse } from 'node:http';
import { acceptsContentType } from './content-type.js';
import type { Exchange } from './exchange.js';
import { parseBody } from './parse-body.js';
import { announcesBody, readBody } from './read-body.js';
import { RefusedRequest } from './refusal-rows.js';

export interface TakenBody {
  readonly bytes: Buffer | undefined;
  readonly value: unknown;
}

const nothing: TakenBody = { bytes: undefined, value: undefined };
const noText: TakenBody = { bytes: undefined, value: '' };
const bodyMethods = new Set(['POST', 'PUT', 'PATCH']);

/** Requests that wait for `100 Continue` before they send their body. */
const waiting = new WeakSet<ServerResponse>();

/** The client of this response sends its body only when it is told to. */
export function expectContinue(response: ServerResponse): void {
  waiting.add(response);
}

/**
 * Reads the body in the order size, type, bytes, content; nothing is read that an earlier check refuses. A request
 * without a body is answered for at once.
 */
export function takeBody(exchange: Exchange): TakenBody | Promise<TakenBody> {
  const { request, mount } = exchange;
  const announced = announcesBody(request);
  const needed = mount.needsBody && bodyMethods.has(request.method ?? '');
  if (announced !== 'none') return readAnnounced(exchange, announced, needed);
  if (!needed) return mount.body === 'text' ? noText : nothing;
  if (!acceptsContentType(mount.contentTypes, request.headers)) throw wrongType();
  throw emptyBody();
}

async function readAnnounced(exchange: Exchange, announced: 'sized' | 'chunked', needed: boolean): Promise<TakenBody> {
  const { request, response, mount } = exchange;
  const maxBytes = mount.maxBytes + mount.framingBytes;
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(mount.maxBytes);
  const typed = acceptsContentType(mount.contentTypes, request.headers);
  if (!typed && (needed || announced === 'sized')) throw wrongType();
  if (waiting.has(response)) response.writeContinue();
  exchange.bodyTaken = true;
  const bytes = await readBody(request, {
    maxBytes,
    tooLarge: () => tooLarge(mount.maxBytes),
    ...(!typed && { refuseContent: wrongType }),
  });
  if (bytes.length === 0 && needed) throw emptyBody();
  return { bytes, value: parseBody(bytes, mount) };
}

function tooLarge(maxBytes: number): RefusedRequest {
  return new RefusedRequest('payload_too_large', { details: { max_bytes: maxBytes } });
}

function wrongType(): RefusedRequest {
  return new RefusedRequest('unsupported_media_type');
}

function emptyBody(): RefusedRequest {
  return new RefusedRequest('json_syntax', { details: { parse_error: 'body is empty' } });
}
