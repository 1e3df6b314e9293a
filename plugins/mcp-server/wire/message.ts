import { isObject, type JsonObject, member } from './json.js';

/** A JSON-RPC object, sorted by what it wants. */
export type Message =
  | RpcRequest
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'response'; readonly id: unknown; readonly body: JsonObject }
  | { readonly kind: 'invalid'; readonly idText: string | undefined; readonly why: string; readonly noMethod: boolean };

export interface RpcRequest {
  readonly kind: 'request';
  readonly id: unknown;
  /** The id as JSON; undefined when there is none (or null), so the answer carries none. */
  readonly idText: string | undefined;
  readonly method: string;
  readonly params: JsonObject;
}

const none: JsonObject = Object.freeze({});

/** @param text the JSON that the object was read from, for numbers that do not survive reading. */
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
  if (params !== undefined && !isObject(params)) {
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

/** The id's own characters: a number beyond 2^53 is echoed as it was sent. */
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

/** The `_meta` of a request; empty when it is absent or no object. */
export function metaOf(params: JsonObject): JsonObject {
  const meta = member(params, '_meta');
  return isObject(meta) ? meta : none;
}

export function resultText(idText: string | undefined, result: string): string {
  return idText === undefined
    ? `{"jsonrpc":"2.0","result":${result}}`
    : `{"jsonrpc":"2.0","id":${idText},"result":${result}}`;
}

export function errorText(idText: string | undefined, error: JsonObject, extra?: JsonObject): string {
  const id = idText === undefined ? '' : `"id":${idText},`;
  const more = extra === undefined ? '' : `${JSON.stringify(extra).slice(1, -1)},`;
  return `{"jsonrpc":"2.0",${id}${more}"error":${JSON.stringify(error)}}`;
}

export function notificationText(method: string, params?: object): string {
  return JSON.stringify(params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params });
}
