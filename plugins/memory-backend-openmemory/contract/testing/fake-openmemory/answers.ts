import type { FakeCall, FakeFault } from './faults.js';
import type { FakeHit, FakeMemories, FakeMemory, NewFakeMemory } from './memories.js';

/** The two HTTP interfaces that servers of this kind have. */
export type FakeDialect = 'search' | 'query';

type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);

/** The memory that a request to store asks for; undefined when the body is not one. */
function newMemoryOf(dialect: FakeDialect, body: unknown, idempotencyKey: string | null): NewFakeMemory | undefined {
  if (!isObject(body) || typeof body.content !== 'string' || body.content === '') return undefined;
  return {
    content: body.content,
    tags: Array.isArray(body.tags) ? body.tags.map(String) : [],
    metadata: isObject(body.metadata) ? body.metadata : {},
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

function searchBody({ dialect, hitsWithMetadata }: AskedCall, memories: FakeMemories, body: Json): object {
  const filters = isObject(body.filters) ? body.filters : {};
  const from = numberOf(filters.startTime, Number.NEGATIVE_INFINITY);
  const to = numberOf(filters.endTime, Number.POSITIVE_INFINITY);
  const lowest = numberOf(filters.min_score, 0);
  const userId = dialect === 'search' ? body.user_id : undefined;
  const accepts = (memory: FakeMemory) =>
    (userId === undefined || memory.userId === userId) && memory.createdAt >= from && memory.createdAt <= to;
  const limit = numberOf(dialect === 'search' ? body.limit : body.k, 10);
  const hits = memories.search(textOf(body.query), accepts, limit).filter(({ score }) => score >= lowest);
  return hitsBody(
    dialect,
    hits.map((hit) => hitBody(hitsWithMetadata, hit)),
  );
}

/** A request for something the server can do. */
export interface AskedCall {
  readonly call: FakeCall;
  readonly dialect: FakeDialect;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
  /** Body of the health check in place of the dialect's own. */
  readonly health: object | undefined;
  readonly hitsWithMetadata: boolean;
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

function store({ dialect, headers, body }: AskedCall, fault: FakeFault | null, memories: FakeMemories): Answer {
  const key = headers['idempotency-key'];
  const given = newMemoryOf(dialect, body, typeof key === 'string' ? key : null);
  if (given === undefined) return { status: 400, body: { error: 'content is required' } };
  if (fault?.kind !== 'merge') return { status: 200, body: storedBody(dialect, memories.store(given), false) };
  const target = memories.merge(given, fault.into);
  return { status: 200, body: storedBody(dialect, target, fault.silent !== true) };
}

/** The answer of a good server, after it did what was asked. */
export function answerCall(asked: AskedCall, fault: FakeFault | null, memories: FakeMemories): Answer {
  const { dialect } = asked;
  const { pathname, searchParams } = new URL(asked.path, 'http://fake');
  switch (asked.call) {
    case 'health':
      return { status: 200, body: asked.health ?? healthBody(dialect) };
    case 'add':
      return store(asked, fault, memories);
    case 'search':
      if (fault?.kind === 'hits') return { status: 200, body: hitsBody(dialect, fault.hits) };
      return { status: 200, body: searchBody(asked, memories, isObject(asked.body) ? asked.body : {}) };
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
