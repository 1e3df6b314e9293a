import { type FileHandle, open, realpath } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { extname, join, sep } from 'node:path';
import { contentType } from 'mime-types';
import type { RouteResponse } from '../sdk/index.js';
import type { StaticRoute } from '../sdk/points/route.js';

// Not `send`: it writes to the response by itself, bypassing the exchange, and follows links out of the folder.

/** Files up to this size are sent in one piece, bytes. */
const smallFile = 256 * 1024;
const chunkBytes = 64 * 1024;
const absent = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES', 'ELOOP', 'EISDIR']);

/** An open file below the served folder. */
interface FoundFile {
  readonly handle: FileHandle;
  readonly name: string;
  readonly size: number;
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
}

/**
 * The answer of a static folder, or undefined when it has none for the path. The fallback is served for pages only, and
 * not where `declaredPath` says that the path belongs to an API: a page there would hide a mistake.
 */
export async function serveStatic(
  route: StaticRoute,
  rawPath: string,
  request: IncomingMessage,
  declaredPath: boolean,
): Promise<RouteResponse | undefined> {
  const file = await findFile(route.folder, rawPath);
  if (file) return respond(file, route, request);
  if (route.fallback === undefined || declaredPath || !acceptsHtml(request)) return undefined;
  const fallback = await findFile(route.folder, route.fallback);
  return fallback && respond(fallback, route, request);
}

/** Whether the caller asks for a page: browsers name the type, tools that accept anything do not. */
export function acceptsHtml(request: IncomingMessage): boolean {
  return /\btext\/(html|\*)/i.test(request.headers.accept ?? '');
}

async function respond(file: FoundFile, route: StaticRoute, request: IncomingMessage): Promise<RouteResponse> {
  const type = contentType(extname(file.name)) || 'application/octet-stream';
  const etag = `"${file.size.toString(36)}-${file.modifiedAt.toString(36)}"`;
  const headers = {
    'Referrer-Policy': 'no-referrer',
    ...(type.startsWith('text/html') && { 'X-Frame-Options': 'DENY' }),
    ...route.headers,
    ETag: `W/${etag}`,
    'Last-Modified': new Date(file.modifiedAt).toUTCString(),
    // A page names the assets that belong to it, so only the assets may be cached without a check.
    'Cache-Control': type.startsWith('text/html') || !route.maxAge ? 'no-cache' : `public, max-age=${route.maxAge}`,
  };
  if (isFresh(request, etag, file.modifiedAt)) {
    await file.handle.close();
    return { status: 304, headers };
  }
  const typed = { ...headers, 'Content-Type': type };
  if (file.size > smallFile) {
    return { headers: { ...typed, 'Content-Length': String(file.size) }, stream: fileChunks(file.handle) };
  }
  try {
    return { headers: typed, body: await file.handle.readFile() };
  } finally {
    await file.handle.close();
  }
}

/** RFC 9110, 13.1: the entity tag decides; the date counts only without a tag. */
function isFresh(request: IncomingMessage, etag: string, modifiedAt: number): boolean {
  const tags = request.headers['if-none-match'];
  if (tags !== undefined) {
    return tags.trim() === '*' || tags.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
  }
  const since = Date.parse(request.headers['if-modified-since'] ?? '');
  return Number.isFinite(since) && Math.trunc(modifiedAt / 1000) <= Math.trunc(since / 1000);
}

/**
 * Opens the file that a raw, well-formed path names below `folder`; a folder is served as its `index.html`. Undefined for
 * missing files, names that begin with a dot, steps upwards, and links that lead out of the folder.
 */
async function findFile(folder: string, rawPath: string): Promise<FoundFile | undefined> {
  const segments = decodeURIComponent(rawPath).split('/');
  if (segments.at(-1) === '') segments.pop();
  if (segments.some((segment) => segment === '' || segment.startsWith('.') || /[\\\0]/.test(segment))) return undefined;
  return (await openBelow(folder, segments)) ?? (await openBelow(folder, [...segments, 'index.html']));
}

async function openBelow(folder: string, segments: readonly string[]): Promise<FoundFile | undefined> {
  let handle: FileHandle | undefined;
  try {
    const root = await realpath(folder);
    const file = await realpath(join(root, ...segments));
    if (!file.startsWith(root + sep)) return undefined;
    handle = await open(file, 'r');
    const facts = await handle.stat();
    if (facts.isFile()) return { handle, name: file, size: facts.size, modifiedAt: Math.trunc(facts.mtimeMs) };
    await handle.close();
    return undefined;
  } catch (error) {
    await handle?.close();
    if (error instanceof Error && absent.has(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw error;
  }
}

/** The bytes of an open file. It is closed at the end, and also when the reader leaves before the first chunk. */
function fileChunks(handle: FileHandle): AsyncIterable<Uint8Array> {
  const done = async (): Promise<IteratorReturnResult<undefined>> => {
    await handle.close();
    return { done: true, value: undefined };
  };
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes);
    return bytesRead === 0 ? done() : { done: false, value: buffer.subarray(0, bytesRead) };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: done }) };
}
