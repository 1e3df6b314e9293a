import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { member } from './params.js';
import { isSessionVersion, type Mode, metaNames } from './protocol.js';

/** Arrays and objects nested deeper than this are refused. */
const maxDepth = 100;

/** What the text of a `POST` contains. */
export type Body =
  | { readonly form: 'unparsable'; readonly parseError: string }
  | { readonly form: 'too-deep' }
  | { readonly form: 'batch'; readonly messages: readonly unknown[] }
  | { readonly form: 'scalar' }
  | { readonly form: 'json-rpc'; readonly message: JsonObject; readonly text: string }
  | { readonly form: 'legacy'; readonly body: JsonObject }
  | { readonly form: 'unknown'; readonly why: string };

export function readBody(text: string): Body {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const parseError = text.trim() === '' ? 'The body is empty.' : 'The body is not valid JSON.';
    return { form: 'unparsable', parseError };
  }
  // A text with fewer characters than brackets needed cannot be too deep: small bodies are not walked.
  if (text.length > 2 * maxDepth && deeperThan(value, maxDepth)) return { form: 'too-deep' };
  if (Array.isArray(value)) return { form: 'batch', messages: value };
  if (!isJsonObject(value)) return { form: 'scalar' };
  if (member(value, 'jsonrpc') === '2.0') return { form: 'json-rpc', message: value, text };
  if (Object.hasOwn(value, 'jsonrpc')) {
    return { form: 'unknown', why: 'member "jsonrpc" must be "2.0"' };
  }
  if (typeof member(value, 'tool') === 'string') return { form: 'legacy', body: value };
  if (Object.hasOwn(value, 'tool')) return { form: 'unknown', why: 'member "tool" must be a string' };
  return { form: 'unknown', why: 'neither "jsonrpc" nor "tool" is present' };
}

/** Whether arrays and objects are nested deeper than `limit`. */
function deeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  for (const child of Object.values(value)) {
    if (deeperThan(child, limit - 1)) return true;
  }
  return false;
}

/** A JSON-RPC object by its kind. */
export type Message =
  | RpcRequest
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'response'; readonly id: unknown; readonly body: JsonObject }
  | { readonly kind: 'invalid'; readonly idText: string | undefined; readonly why: string; readonly noMethod: boolean };

export interface RpcRequest {
  readonly kind: 'request';
  readonly id: unknown;
  /** The id as JSON; undefined when it is absent or null, so the response has none either. */
  readonly idText: string | undefined;
  readonly method: string;
  readonly params: JsonObject;
}

const none: JsonObject = Object.freeze({});

/** @param text the JSON that the object was parsed from, for ids that lose precision when parsed. */
export function readMessage(object: JsonObject, text?: string): Message {
  const id = member(object, 'id');
  const idText = idAsText(id, text);
  const method = member(object, 'method');
  if (typeof method !== 'string') {
    if (method === undefined && (Object.hasOwn(object, 'result') || Object.hasOwn(object, 'error'))) {
      return { kind: 'response', id, body: object };
    }
    const why = method === undefined ? 'Member "method" is missing.' : 'Member "method" must be a string.';
    return { kind: 'invalid', idText, why, noMethod: method === undefined };
  }
  const params = member(object, 'params');
  if (params !== undefined && !isJsonObject(params)) {
    return { kind: 'invalid', idText, why: 'Member "params" must be an object.', noMethod: false };
  }
  if (idText === undefined && method.startsWith('notifications/')) {
    return { kind: 'notification', method, params: params ?? none };
  }
  return { kind: 'request', id, idText, method, params: params ?? none };
}

function idAsText(id: unknown, text: string | undefined): string | undefined {
  if (id === undefined || id === null) return undefined;
  if (typeof id === 'number' && !Number.isSafeInteger(id) && text !== undefined) {
    return sourceOfId(text) ?? JSON.stringify(id);
  }
  return JSON.stringify(id);
}

/** The id as it was written: numbers beyond 2^53 are echoed unchanged. */
function sourceOfId(text: string): string | undefined {
  const sources = new Map<unknown, string>();
  let found: string | undefined;
  JSON.parse(text, function (this: unknown, key: string, value: unknown, context?: { readonly source?: string }) {
    if (key === 'id' && context?.source !== undefined) sources.set(this, context.source);
    if (key === '' && sources.has(value)) found = sources.get(value);
    return value;
  } as (this: unknown, key: string, value: unknown) => unknown);
  return found;
}

/** The `_meta` of a request; empty when it is absent or not an object. */
export function metaOf(params: JsonObject): JsonObject {
  const meta = member(params, '_meta');
  return isJsonObject(meta) ? meta : none;
}

/**
 * Selects the protocol mode of a message. A version that is not a session revision selects the stateless mode, in
 * `_meta` or else in the header; without any version or session, so does a method that only that mode has.
 */
export function modeOf(message: {
  readonly method: string;
  readonly meta: JsonObject;
  readonly headerVersion: string | undefined;
  readonly hasSession: boolean;
}): Mode {
  const metaVersion = member(message.meta, metaNames.protocolVersion);
  if (metaVersion !== undefined && !isSessionVersion(metaVersion)) return 'stateless';
  if (message.headerVersion !== undefined && !isSessionVersion(message.headerVersion)) return 'stateless';
  if (message.headerVersion === undefined && !message.hasSession && isStatelessOnly(message.method)) return 'stateless';
  return 'session';
}

function isStatelessOnly(method: string): boolean {
  return method === 'server/discover' || method === 'subscriptions/listen' || method.startsWith('tasks/');
}

/** The members of an object as JSON text without the braces, to combine several sources into one object. */
export function membersText(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}

/** One JSON object made of member texts; empty ones are skipped. */
export function objectText(...members: readonly string[]): string {
  return `{${members.filter((text) => text !== '').join(',')}}`;
}

export function resultText(idText: string | undefined, result: string): string {
  return idText === undefined
    ? `{"jsonrpc":"2.0","result":${result}}`
    : `{"jsonrpc":"2.0","id":${idText},"result":${result}}`;
}

/** @param extra further top-level members. */
export function errorText(idText: string | undefined, error: JsonObject, extra?: JsonObject): string {
  const id = idText === undefined ? '' : `"id":${idText},`;
  const more = extra === undefined ? '' : `${membersText(extra)},`;
  return `{"jsonrpc":"2.0",${id}${more}"error":${JSON.stringify(error)}}`;
}

export function notificationText(method: string, params?: object): string {
  return JSON.stringify(params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params });
}
