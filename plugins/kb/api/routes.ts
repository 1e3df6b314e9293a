import { isJsonObject, type JsonObject, type Route, type RouteRequest } from 'mortise/sdk';
import { kbError } from '../errors.js';
import type { Job } from '../service/jobs.js';
import type { KbService } from '../service/knowledge-base.js';

type Handler = Route['handle'];

/** The handlers of `/kb/*`, by route name. */
export function createRoutes(kb: KbService): Readonly<Record<string, Route>> {
  const handlers: Record<string, Handler> = {
    'kb-search': async ({ body }, ctx) => {
      const { repo, ...request } = objectOf(body);
      return { body: await kb.search(request, { repo: textOf(repo, 'repo') }, ctx) };
    },
    'kb-search-get': async ({ query }, ctx) => {
      checkNames(query, searchParameters);
      const { repo, ...request } = searchOfQuery(query);
      return { body: await kb.search(request, { repo }, ctx) };
    },
    'kb-chunk': async ({ params, query }, ctx) => {
      checkNames(query, ['query', 'terms']);
      const terms = flagOf(query, 'terms') ?? false;
      return { body: await kb.chunk(params.chunk_id ?? '', { query: query.get('query') ?? undefined, terms }, ctx) };
    },
    'kb-evidence': async ({ query }) => {
      checkNames(query, ['ref', 'repo']);
      const repo = query.get('repo') ?? undefined;
      if (repo !== undefined) kb.repoOf({ repo });
      return { body: await kb.evidence(query.get('ref') ?? '', repo) };
    },
    'kb-sources': async ({ query }) => ({ body: await sourcesOf(kb, query) }),
    'kb-refresh': async ({ body }, ctx) => {
      const { repo, wait, ...request } = membersOf(body, ['repo', 'wait', 'mode', 'paths']);
      const isAwaited = booleanOf(wait, 'wait');
      const job = kb.refresh(request, { repo: textOf(repo, 'repo') }, callerOf(ctx));
      return isAwaited ? { body: await kb.reportOf(job.id) } : accepted(job);
    },
    'kb-jobs': () => ({ body: { items: kb.jobs.list() } }),
    'kb-job': ({ params }) => ({ body: kb.jobs.get(params.id ?? '') }),
    'kb-job-events': ({ params }, ctx) => {
      kb.jobs.get(params.id ?? '');
      return { sse: true, stream: events(kb, params.id ?? '', ctx.signal) };
    },
    'kb-job-cancel': ({ params }) => ({ body: { cancelled: kb.jobs.cancel(params.id ?? '') } }),
    'kb-stats': async () => ({ body: await kb.stats() }),
    'kb-health': () => kb.health(),
    'kb-reindex': ({ body }, ctx) => accepted(kb.reindex({ repo: repoOf(body) }, callerOf(ctx))),
    'kb-repair': ({ body }) => {
      const { repo, check, deep } = membersOf(body, ['repo', 'check', 'deep']);
      const name = textOf(repo, 'repo');
      const choice = name === undefined ? undefined : { repo: name };
      return accepted(kb.repair({ check: booleanOf(check, 'check'), deep: booleanOf(deep, 'deep') }, choice));
    },
    'kb-embeddings-build': ({ body }, ctx) => accepted(embed(kb, 'embed_build', body, callerOf(ctx))),
    'kb-embeddings-refresh': ({ body }, ctx) => accepted(embed(kb, 'embed_refresh', body, callerOf(ctx))),
  };
  return Object.fromEntries(Object.entries(handlers).map(([name, handle]) => [name, { handle }]));
}

type Caller = Parameters<KbService['refresh']>[2];

/** A job outlives its request: it keeps the caller, not the signal. */
function callerOf({ principal, correlationId, requestId }: Parameters<Handler>[1]): NonNullable<Caller> {
  return { principal, correlationId, requestId };
}

function embed(kb: KbService, kind: 'embed_build' | 'embed_refresh', body: unknown, caller: Caller): Job {
  const repo = repoOf(body);
  return kb.embed(kind, repo === undefined ? undefined : { repo }, undefined, caller);
}

function accepted(job: Job) {
  return { status: 202, body: { job } };
}

function invalid(field: string, problem: string): Error {
  return kbError('invalid_request', { field, problem });
}

function objectOf(body: RouteRequest['body']): JsonObject {
  if (body === undefined) return {};
  if (isJsonObject(body)) return body;
  throw Object.assign(kbError('invalid_request', { field: 'body', problem: 'must be a JSON object' }), {
    code: 'invalid_json',
  });
}

function textOf(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw Object.assign(invalid(field, 'must be a text'), { code: 'invalid_json' });
}

function booleanOf(value: unknown, field: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'boolean') return value;
  throw Object.assign(invalid(field, 'must be true or false'), { code: 'invalid_json' });
}

/** The members of a body, of which none is misspelt. */
function membersOf(body: unknown, known: readonly string[]): Record<string, unknown> {
  const members = objectOf(body);
  const unknown = Object.keys(members).find((name) => !known.includes(name));
  if (unknown !== undefined) throw invalid(unknown, `is no member here; known are ${known.join(', ')}`);
  return members;
}

/** No query parameter is misspelt: a filter that is not read would widen the answer. */
function checkNames(query: URLSearchParams, known: readonly string[]): void {
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) throw invalid(unknown, `is no parameter here; known are ${known.join(', ')}`);
}

function repoOf(body: unknown): string | undefined {
  return textOf(membersOf(body, ['repo']).repo, 'repo');
}

function flagOf(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (value === 'true' || value === '1' || value === '') return true;
  if (value === 'false' || value === '0') return false;
  throw invalid(name, 'must be true or false');
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (!/^-?\d+$/.test(value)) throw invalid(name, 'must be a whole number');
  return Number(value);
}

const searchTexts = ['path_glob', 'modified_after', 'modified_before'];
const searchParameters = [
  ...['q', 'query', 'repo', 'scope', 'as_of', 'top_k', 'offset', 'explain', 'content', 'rerank', 'syntax'],
  ...['doc_types', 'doc_type', 'tags', 'tag', ...searchTexts],
];

/** A search as query parameters; lists are repeated parameters. */
function searchOfQuery(query: URLSearchParams): Record<string, unknown> & { readonly repo?: string | undefined } {
  const lists = {
    doc_types: [...query.getAll('doc_types'), ...query.getAll('doc_type')],
    tags: [...query.getAll('tags'), ...query.getAll('tag')],
  };
  const texts = searchTexts.map((name) => [name, query.get(name) ?? undefined]);
  const request = {
    query: query.get('q') ?? query.get('query') ?? '',
    top_k: numberOf(query, 'top_k'),
    offset: numberOf(query, 'offset'),
    scope: query.get('scope') ?? undefined,
    explain: flagOf(query, 'explain'),
    content: flagOf(query, 'content'),
    rerank: flagOf(query, 'rerank'),
    syntax: flagOf(query, 'syntax'),
    as_of: query.get('as_of') ?? undefined,
    filters: { ...lists, ...Object.fromEntries(texts) },
  };
  return { ...request, repo: query.get('repo') ?? undefined };
}

const statuses = ['indexed', 'stale', 'skipped', 'error'];

async function sourcesOf(kb: KbService, query: URLSearchParams) {
  checkNames(query, ['repo', 'status', 'doc_type', 'path_prefix', 'limit', 'cursor']);
  const limit = numberOf(query, 'limit') ?? 100;
  if (limit < 1 || limit > 1_000) throw invalid('limit', 'must be from 1 to 1000');
  const status = query.get('status') ?? undefined;
  if (status !== undefined && !statuses.includes(status))
    throw invalid('status', `must be one of ${statuses.join(', ')}`);
  const docType = query.get('doc_type') ?? undefined;
  if (docType !== undefined && !kb.settings.docTypeNames.includes(docType))
    throw invalid('doc_type', `must be one of ${kb.settings.docTypeNames.join(', ')}`);
  const pathPrefix = query.get('path_prefix') ?? undefined;
  const { items, next } = await kb.sources({
    repo: kb.repoOf({ repo: query.get('repo') ?? undefined }).name,
    limit,
    after: cursorOf(query.get('cursor')),
    ...(status === undefined ? {} : { status }),
    ...(docType === undefined ? {} : { docType }),
    ...(pathPrefix === undefined ? {} : { pathPrefix }),
  });
  return { items, next_cursor: next === null ? null : Buffer.from(next).toString('base64url') };
}

function cursorOf(cursor: string | null): string {
  if (cursor === null) return '';
  const after = Buffer.from(cursor, 'base64url').toString('utf8');
  if (Buffer.from(after).toString('base64url') !== cursor) throw invalid('cursor', 'is not a cursor of this list');
  return after;
}

async function* events(kb: KbService, id: string, signal: AbortSignal): AsyncGenerator<string> {
  for await (const job of kb.jobs.follow(id, signal)) yield `event: job\ndata: ${JSON.stringify(job)}\n\n`;
}
