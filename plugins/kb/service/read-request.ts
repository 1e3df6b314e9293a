import type { SearchRequest } from '../contract/kb.js';
import { leavesItsRoot } from '../documents/evidence-ref.js';
import { kbError } from '../errors.js';
import type { IndexSearch } from '../search/index-search.js';
import { parseSyntax } from '../search/parse-syntax.js';
import type { KbSettings } from './settings.js';

/** A validated search request. */
export interface ReadSearch {
  readonly query: string;
  readonly topK: number;
  readonly offset: number;
  readonly explain: boolean;
  readonly rerank: boolean | undefined;
  readonly wanted: Omit<IndexSearch, 'repos' | 'limit' | 'offset'>;
}

const maxQuery = 8_192;

function invalidRequest(field: string, problem: string): Error {
  return kbError('invalid_request', { field, problem });
}

function wrongType(field: string, expected: string): Error {
  return kbError('invalid_request', { field, problem: `must be ${expected}` }, { status: 400 });
}

/** An optional value of a type. @throws MortiseError `invalid_json` with a wrong one */
function optional<T>(value: unknown, field: string, kind: 'string' | 'boolean' | 'number' | 'object'): T | undefined {
  if (value === undefined || value === null) return undefined;
  const isRight = typeof value === kind && (kind !== 'object' || !Array.isArray(value));
  if (!isRight) throw wrongTypeOf(field, kind);
  return value as T;
}

function wrongTypeOf(field: string, kind: string): Error {
  const article = /^[aeiou]/.test(kind) ? 'an' : 'a';
  const error = wrongType(field, `${article} ${kind}`);
  return Object.assign(error, { code: 'invalid_json' });
}

function wholeNumber(value: unknown, field: string, from: number, to: number, fallback: number): number {
  const given = optional<number>(value, field, 'number');
  if (given === undefined) return fallback;
  if (!Number.isInteger(given) || given < from || given > to)
    throw invalidRequest(field, `must be from ${from} to ${to}`);
  return given;
}

function texts(value: unknown, field: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    throw wrongTypeOf(field, 'list of texts');
  return value;
}

const span = /^(\d{1,6})([smhdw])$/;
const spanMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** RFC 3339, epoch seconds, or a span before now. @throws MortiseError `invalid_request` */
function readMoment(value: unknown, field: string, now = Date.now()): number | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return value * 1_000;
  if (typeof value === 'string') {
    if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000;
    const [, count, unit] = span.exec(value) ?? [];
    if (count !== undefined && unit !== undefined) return now - Number(count) * (spanMs[unit] ?? 0);
    const time = /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Number.NaN;
    if (Number.isFinite(time)) return time;
  }
  throw invalidRequest(field, 'must be an RFC 3339 time, epoch seconds, or a span such as 7d');
}

function readDay(value: unknown): number {
  const day = optional<string>(value, 'as_of', 'string');
  if (day === undefined) return Date.now();
  const time = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  if (!Number.isFinite(time) || new Date(time).toISOString().slice(0, 10) !== day) {
    throw invalidRequest('as_of', 'must be a day such as 2026-01-31');
  }
  return time;
}

/** The text of a query: NUL and lone surrogates count as spaces. @throws MortiseError `invalid_query` */
function readQueryText(value: unknown): string {
  if (typeof value !== 'string') throw wrongTypeOf('query', 'text');
  if (value.length > maxQuery) throw kbError('invalid_query', { problem: `is longer than ${maxQuery} characters` });
  const query = value.replaceAll('\0', ' ').toWellFormed().replaceAll('\ufffd', ' ');
  if (query.trim() === '') throw kbError('invalid_query', { problem: 'is blank' });
  return query;
}

const known = new Set([
  'query',
  'top_k',
  'offset',
  'repo',
  'scope',
  'filters',
  'explain',
  'content',
  'rerank',
  'syntax',
  'as_of',
]);
const knownFilters = new Set(['doc_types', 'tags', 'path_glob', 'modified_after', 'modified_before']);

/** Validates a search request. @throws MortiseError `invalid_json`, `invalid_request`, `invalid_query` */
export function readSearch(body: unknown, settings: KbSettings): ReadSearch {
  const request = optional<Record<keyof SearchRequest, unknown>>(body ?? {}, 'body', 'object') ?? ({} as never);
  const unknown = Object.keys(request).find((name) => !known.has(name));
  if (unknown !== undefined) throw invalidRequest(unknown, 'is no parameter of a search');
  const query = readQueryText(request.query);
  const filters = optional<Record<string, unknown>>(request.filters, 'filters', 'object') ?? {};
  const other = Object.keys(filters).find((name) => !knownFilters.has(name));
  if (other !== undefined) throw invalidRequest(`filters.${other}`, 'is no filter');
  const isSyntax = optional<boolean>(request.syntax, 'syntax', 'boolean') ?? false;
  const syntax = isSyntax ? parseSyntax(query) : undefined;
  const docTypes = texts(filters.doc_types, 'filters.doc_types');
  for (const name of [...docTypes, ...(syntax?.types ?? [])]) {
    if (!settings.docTypeNames.includes(name)) {
      throw invalidRequest('filters.doc_types', `has no "${name}"; known are ${settings.docTypeNames.join(', ')}`);
    }
  }
  return {
    query,
    topK: wholeNumber(request.top_k, 'top_k', 1, 100, 10),
    offset: wholeNumber(request.offset, 'offset', 0, 100, 0),
    explain: optional<boolean>(request.explain, 'explain', 'boolean') ?? true,
    rerank: optional<boolean>(request.rerank, 'rerank', 'boolean'),
    wanted: {
      text: syntax?.text ?? query,
      syntax,
      scope: optional<string>(request.scope, 'scope', 'string'),
      docTypes,
      tags: texts(filters.tags, 'filters.tags'),
      pathGlob: optional<string>(filters.path_glob, 'filters.path_glob', 'string'),
      modifiedAfter: readMoment(filters.modified_after, 'filters.modified_after'),
      modifiedBefore: readMoment(filters.modified_before, 'filters.modified_before'),
      content: optional<boolean>(request.content, 'content', 'boolean') ?? false,
      details: true,
      asOf: readDay(request.as_of),
    },
  };
}

const modes = ['incremental', 'full', 'verify'] as const;

export interface ReadRefresh {
  readonly mode: (typeof modes)[number];
  readonly paths: readonly string[] | undefined;
}

/** Validates a refresh request. @throws MortiseError `invalid_json`, `invalid_request` */
export function readRefresh(request: Readonly<Record<string, unknown>>): ReadRefresh {
  const mode = modes.find((one) => one === (request.mode ?? 'incremental'));
  if (mode === undefined) throw invalidRequest('mode', `must be one of ${modes.join(', ')}`);
  if (request.paths === undefined || request.paths === null) return { mode, paths: undefined };
  const paths = texts(request.paths, 'paths').map((path) => path.replace(/^\.\/(?=.)/, '').replace(/\/+$/, ''));
  if (paths.includes('.')) return { mode, paths: undefined };
  for (const path of paths) {
    if (path === '' || leavesItsRoot(path))
      throw invalidRequest('paths', 'must be relative to the repo and stay inside it');
  }
  return { mode, paths };
}
