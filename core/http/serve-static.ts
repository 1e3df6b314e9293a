import type { IncomingMessage } from 'node:http';
import type { RouteResponse, StaticRoute } from '../sdk/index.js';
import { fileChunks } from './file-chunks.js';
import { typeOfFile } from './file-types.js';
import { type FoundFile, findFile } from './find-file.js';

/** Files up to this size are sent in one piece, bytes. */
const smallFile = 256 * 1024;

/**
 * The answer of a static folder, or undefined when it has none for the path. The fallback stands in for pages only:
 * `declaredPath` tells that the path belongs to an API, where a page would hide a mistake.
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

/** Whether the caller asks for a page: browsers name the type, tools that take anything do not. */
export function acceptsHtml(request: IncomingMessage): boolean {
  return /\btext\/(html|\*)/i.test(request.headers.accept ?? '');
}

async function respond(file: FoundFile, route: StaticRoute, request: IncomingMessage): Promise<RouteResponse> {
  const type = typeOfFile(file.name);
  const etag = `"${file.size.toString(36)}-${file.modifiedAt.toString(36)}"`;
  const headers = {
    'Referrer-Policy': 'no-referrer',
    ...(type.startsWith('text/html') && { 'X-Frame-Options': 'DENY' }),
    ...route.headers,
    ETag: `W/${etag}`,
    'Last-Modified': new Date(file.modifiedAt).toUTCString(),
    // A page names the assets that belong to it: it is looked up each time, its assets may be kept.
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

/** RFC 9110, 13.1: an entity tag decides, the date only where there is none. */
function isFresh(request: IncomingMessage, etag: string, modifiedAt: number): boolean {
  const tags = request.headers['if-none-match'];
  if (tags !== undefined) {
    return tags.trim() === '*' || tags.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
  }
  const since = Date.parse(request.headers['if-modified-since'] ?? '');
  return Number.isFinite(since) && Math.trunc(modifiedAt / 1000) <= Math.trunc(since / 1000);
}
