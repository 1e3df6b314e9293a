import type { ServerResponse } from 'node:http';
import { isJsonObject, type JsonObject } from 'mortise/sdk';
import type { FakeCall, FakeFault } from './fake-faults.js';
import type { FakeHit, FakeMemories, FakeMemory, NewFakeMemory } from './fake-memories.js';

/** The two HTTP interfaces of OpenMemory servers. */
export type FakeDialect = 'search' | 'query';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown, fallback: number): number => (typeof value === 'number' ? value : fallback);

/** The memory in a request to store; undefined for an invalid body. */
function newMemoryOf(dialect: FakeDialect, body: unknown, idempotencyKey: string | null): NewFakeMemory | undefined {
  if (!isJsonObject(body) || typeof body.content !== 'string' || body.content === '') return undefined;
  return {
    content: body.content,
    tags: Array.isArray(body.tags) ? body.tags.map(String) : [],
    metadata: isJsonObject(body.metadata) ? body.metadata : {},
    userId: dialect === 'search' && typeof body.user_id === 'string' ? body.user_id : null,
    idempotencyKey,
  };
}

function healthBody(dialect: FakeDialect): object {
  return dialect === 'search' ? { status: 'ok' } : { ok: true, version: 'fake' };
}

function storedBody(dialect: FakeDialect, memory: FakeMemory, merged: boolean): object {
  const more = merged ? { deduplicated: true } : {};
  if (dialect === 'search') return { success: true, data: { id: memory.id, ...more }, ...more };
  return { id: memory.id, primary_sector: 'semantic', sectors: ['semantic'], ...more };
}

function memoryBody({ userId, createdAt, ...memory }: FakeMemory): object {
  return { ...memory, user_id: userId, created_at: createdAt };
}

function hitBody(withMetadata: boolean, { memory, score }: FakeHit): object {
  const { id, content, metadata } = memory;
  return withMetadata ? { id, content, score, metadata } : { id, content, score, sectors: ['semantic'] };
}

function hitsBody(dialect: FakeDialect, hits: readonly object[]): object {
  return dialect === 'search' ? { results: hits } : { matches: hits };
}

function searchBody({ dialect, hitsWithMetadata }: Call, memories: FakeMemories, body: JsonObject): object {
  const filters = isJsonObject(body.filters) ? body.filters : {};
  const from = numberOf(filters.startTime, Number.NEGATIVE_INFINITY);
  const to = numberOf(filters.endTime, Number.POSITIVE_INFINITY);
  const minScore = numberOf(filters.min_score, 0);
  const userId = dialect === 'search' ? body.user_id : undefined;
  const accepts = (memory: FakeMemory) =>
    (userId === undefined || memory.userId === userId) && memory.createdAt >= from && memory.createdAt <= to;
  const limit = numberOf(dialect === 'search' ? body.limit : body.k, 10);
  const hits = memories.search(textOf(body.query), accepts, limit).filter(({ score }) => score >= minScore);
  return hitsBody(
    dialect,
    hits.map((hit) => hitBody(hitsWithMetadata, hit)),
  );
}

/** A request that the server supports. */
interface Call {
  readonly call: FakeCall;
  readonly dialect: FakeDialect;
  /** With the query string. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
  /** Body of the health check, instead of the dialect's own. */
  readonly health: object | undefined;
  readonly hitsWithMetadata: boolean;
}

interface Response {
  readonly status: number;
  readonly body: object;
}

function store({ dialect, headers, body }: Call, fault: FakeFault | null, memories: FakeMemories): Response {
  const key = headers['idempotency-key'];
  const given = newMemoryOf(dialect, body, typeof key === 'string' ? key : null);
  if (given === undefined) return { status: 400, body: { error: 'content is required' } };
  if (fault?.kind !== 'merge') return { status: 200, body: storedBody(dialect, memories.store(given), false) };
  const target = memories.merge(given, fault.into);
  return { status: 200, body: storedBody(dialect, target, fault.silent !== true) };
}

/** Carries out a request and returns the response of a healthy server. */
function answerCall(call: Call, fault: FakeFault | null, memories: FakeMemories): Response {
  const { dialect } = call;
  const { pathname, searchParams } = new URL(call.path, 'http://fake');
  switch (call.call) {
    case 'health':
      return { status: 200, body: call.health ?? healthBody(dialect) };
    case 'add':
      return store(call, fault, memories);
    case 'search':
      if (fault?.kind === 'hits') return { status: 200, body: hitsBody(dialect, fault.hits) };
      return { status: 200, body: searchBody(call, memories, isJsonObject(call.body) ? call.body : {}) };
    case 'list': {
      const found = memories.newest(Number(searchParams.get('l') ?? 100), Number(searchParams.get('u') ?? 0));
      return { status: 200, body: { items: found.map(memoryBody) } };
    }
    case 'get': {
      const memory = memories.byId.get(decodeURIComponent(pathname.slice('/memory/'.length)));
      return memory === undefined
        ? { status: 404, body: { error: 'not_found' } }
        : { status: 200, body: memoryBody(memory) };
    }
  }
}

/** Sends a JSON response. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(text);
}

/** Sends the beginning of a response and closes the connection. */
function sendHalf(response: ServerResponse, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.write(text.slice(0, Math.max(1, text.length >> 1)), () => response.socket?.destroy());
}

/** Responds to a request with its fault, or with success when there is none. */
export async function respond(
  fault: FakeFault | null,
  call: Call,
  memories: FakeMemories,
  response: ServerResponse,
): Promise<void> {
  const success = () => answerCall(call, fault, memories);
  const applies = fault !== null && 'apply' in fault && fault.apply === true;
  if (applies && call.call === 'add') success();
  switch (fault?.kind) {
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'status': {
      const { retryAfter, location } = fault;
      sendJson(response, fault.status, fault.body ?? { error: 'scripted' }, {
        ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
        ...(location === undefined ? {} : { location }),
      });
      return;
    }
    case 'truncate':
      sendHalf(response, success().body);
      return;
    case 'malformed':
      success();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"id": "om-');
      return;
    case 'oversized':
      sendJson(response, 200, { ...success().body, padding: 'x'.repeat(fault.bytes) });
      return;
    case 'missing-id':
      success();
      sendJson(response, 200, { success: true, data: {} });
      return;
    case 'success-false':
      sendJson(response, 200, { success: false, id: 'om-none', data: { id: 'om-none' } });
      return;
    case 'slow':
      await new Promise((resolve) => setTimeout(resolve, fault.ms));
      break;
    case 'held':
      await fault.until;
  }
  const { status, body } = success();
  sendJson(response, status, body);
}
