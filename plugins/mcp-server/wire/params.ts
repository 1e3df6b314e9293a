import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { RpcFailure } from './failure.js';

/** An own member of an object: names such as `__proto__` are data. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** @throws RpcFailure when the parameter is missing or not a string. */
export function requiredText(params: JsonObject, name: string): string {
  const value = member(params, name);
  if (typeof value === 'string') return value;
  const missing = value === undefined;
  throw new RpcFailure(
    missing ? 'MISSING_REQUIRED_PARAM' : 'INVALID_PARAM_TYPE',
    missing ? `Parameter "${name}" is missing.` : `Parameter "${name}" must be a string.`,
    { details: { path: `/${name}` } },
  );
}

/** @throws RpcFailure when the parameter is missing or not an object. */
export function requiredObject(params: JsonObject, name: string): JsonObject {
  const value = member(params, name);
  if (isJsonObject(value)) return value;
  throw new RpcFailure(
    value === undefined ? 'MISSING_REQUIRED_PARAM' : 'INVALID_PARAM_TYPE',
    `Parameter "${name}" must be an object.`,
    { details: { path: `/${name}` } },
  );
}

/** The value of parameter `inputResponses`: the client's answers by question. @throws RpcFailure */
export function inputResponses(value: unknown): JsonObject {
  if (isJsonObject(value)) return value;
  throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "inputResponses" must be an object.', {
    details: { path: '/inputResponses', expected: 'object' },
  });
}

/** Entries of one page of any list. */
const pageSize = 100;

export interface Page<T> {
  readonly items: readonly T[];
  /** Cursor of the next page. */
  readonly next: string | undefined;
}

/** Index of the first entry of the requested page. @throws RpcFailure for a cursor that this list did not return. */
export function offsetOf(params: JsonObject, length: number): number {
  const cursor = member(params, 'cursor');
  if (cursor === undefined) return 0;
  if (typeof cursor === 'string') {
    const digits = /^page:([1-9]\d{0,6})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1];
    const offset = Number(digits);
    if (digits !== undefined && offset % pageSize === 0 && offset < length && cursorAt(offset) === cursor)
      return offset;
  }
  throw new RpcFailure('INVALID_PARAM_VALUE', 'Parameter "cursor" was not returned by this list.', {
    details: { path: '/cursor' },
  });
}

export function page<T>(items: readonly T[], offset: number): Page<T> {
  const end = offset + pageSize;
  return { items: items.slice(offset, end), next: end < items.length ? cursorAt(end) : undefined };
}

function cursorAt(offset: number): string {
  return Buffer.from(`page:${offset}`, 'latin1').toString('base64url');
}
