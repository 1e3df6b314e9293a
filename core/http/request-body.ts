import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { exceedsDepth } from '../schema/index.js';
import { MortiseError } from '../sdk/index.js';
import type { Mount } from './mounts.js';
import { RefusedRequest } from './refusals.js';

export interface RequestBody {
  readonly bytes: Buffer | undefined;
  readonly value: unknown;
}

const noBytes = Buffer.alloc(0);
export const noBody: RequestBody = { bytes: undefined, value: undefined };
const noText: RequestBody = { bytes: undefined, value: '' };
const bodyMethods = new Set(['POST', 'PUT', 'PATCH']);

/** Requests that wait for `100 Continue` before they send their body. */
const waiting = new WeakSet<ServerResponse>();

/** The client of this response sends its body only after `100 Continue`. */
export function expectContinue(response: ServerResponse): void {
  waiting.add(response);
}

/** Whether the headers announce a body; a chunked one may turn out to be empty. */
export function announcesBody(request: IncomingMessage): 'none' | 'sized' | 'chunked' {
  if (request.headers['transfer-encoding'] !== undefined) return 'chunked';
  const length = request.headers['content-length'];
  return length === undefined || Number(length) === 0 ? 'none' : 'sized';
}

/**
 * Checks size, type, bytes and content in this order, and reads nothing that an earlier check refuses. Without a body the
 * result is no promise. `reading` is called before the first byte is read.
 * @throws RefusedRequest; MortiseError `client_closed` when the client leaves before the body has arrived.
 */
export function readRequestBody(
  request: IncomingMessage,
  response: ServerResponse,
  mount: Mount,
  reading: () => void,
): RequestBody | Promise<RequestBody> {
  const announced = announcesBody(request);
  const needed = mount.needsBody && bodyMethods.has(request.method ?? '');
  if (announced === 'none') {
    if (!needed) return mount.body === 'text' ? noText : noBody;
    if (!acceptsContentType(mount.contentTypes, request.headers)) throw wrongType(mount, request.method);
    throw emptyBody();
  }
  const maxBytes = mount.maxBytes + mount.framingBytes;
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(mount);
  const typed = acceptsContentType(mount.contentTypes, request.headers);
  if (!typed && (needed || announced === 'sized')) throw wrongType(mount, request.method);
  if (waiting.has(response)) response.writeContinue();
  reading();
  return collect(request, mount, maxBytes, typed).then((bytes) => {
    if (bytes.length === 0 && needed) throw emptyBody();
    return { bytes, value: parseBody(bytes, mount) };
  });
}

/** Collects a body of limited size; it is refused at the first byte too many, or, without a valid type, at the first byte. */
function collect(request: IncomingMessage, mount: Mount, maxBytes: number, typed: boolean): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer | Buffer[] = noBytes;
    let size = 0;
    let settled = false;
    const refuse = (error: Error) => {
      settled = true;
      request.pause();
      reject(error);
    };
    // The listeners stay: removing them costs more than the flag.
    request.on('data', (chunk: Buffer) => {
      if (settled) return;
      size += chunk.length;
      if (!typed) refuse(wrongType(mount, request.method));
      else if (size > maxBytes) refuse(tooLarge(mount));
      else if (Array.isArray(chunks)) chunks.push(chunk);
      else chunks = chunks.length === 0 ? chunk : [chunks, chunk];
    });
    request.on('end', () => {
      if (settled) return;
      settled = true;
      resolve(Array.isArray(chunks) ? Buffer.concat(chunks, size) : chunks);
    });
    request.on('close', () => {
      if (settled) return;
      settled = true;
      reject(new MortiseError('client_closed', 'the client left before its body arrived', { status: 499 }));
    });
  });
}

/**
 * A JSON value, the decoded text, or nothing beyond the bytes, depending on the mount. A leading byte order mark is skipped.
 * Member names such as `__proto__` are plain data.
 * @throws RefusedRequest for bytes that are not UTF-8, nesting that is too deep, and text that is not JSON.
 */
function parseBody(bytes: Buffer, mount: Mount): unknown {
  if (mount.body === 'bytes') return undefined;
  if (bytes.length === 0) return mount.body === 'text' ? '' : undefined;
  if (!isUtf8(bytes)) {
    throw new RefusedRequest('json_encoding', { details: { parse_error: 'body is not valid UTF-8' } });
  }
  const content = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
  if (exceedsDepth(content, mount.maxDepth)) {
    throw new RefusedRequest('json_depth', { details: { max_depth: mount.maxDepth } });
  }
  const text = content.toString('utf8');
  if (mount.body === 'text') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's message quotes the body, so it is dropped.
    throw new RefusedRequest('json_syntax', { details: { parse_error: 'body is not valid JSON' } });
  }
}

/** Whether a mount accepts a body of the announced type. */
function acceptsContentType(rule: Mount['contentTypes'], headers: IncomingHttpHeaders): boolean {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return false;
  const header = headers['content-type'];
  const type = mediaType(header);
  if (rule === 'json') return type === 'application/json' || type === 'application/merge-patch+json';
  if (rule === 'multipart') return type === 'multipart/form-data';
  if (type === 'application/json' || /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.-]+\+json$/.test(type)) return true;
  return rule === 'lenient-json' && (header === undefined || headers.origin === undefined);
}

/** The type without parameters, in lower case. */
function mediaType(header: string | undefined): string {
  if (header === undefined || header === 'application/json') return header ?? '';
  const end = header.indexOf(';');
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

function tooLarge({ maxBytes }: Mount): RefusedRequest {
  return new RefusedRequest('payload_too_large', { details: { max_bytes: maxBytes } });
}

function wrongType({ contentTypes }: Mount, method: string | undefined): RefusedRequest {
  const json = ['application/json', ...(method === 'PATCH' ? ['application/merge-patch+json'] : [])];
  const accepted = contentTypes === 'multipart' ? ['multipart/form-data'] : json;
  return new RefusedRequest('unsupported_media_type', {
    details: { accepted },
    hint: `Send the body as Content-Type: ${accepted.join(' or ')}, without a Content-Encoding.`,
  });
}

function emptyBody(): RefusedRequest {
  return new RefusedRequest('json_syntax', { details: { parse_error: 'body is empty' } });
}
