import { RpcFailure } from './failure.js';
import { type JsonObject, member } from './json.js';

/** Entries of one page of any list. */
export const pageSize = 100;

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

/** Where a page begins. @throws RpcFailure for a cursor that no page handed out. */
export function offsetOf(params: JsonObject, length: number): number {
  const cursor = member(params, 'cursor');
  if (cursor === undefined) return 0;
  if (typeof cursor === 'string') {
    const digits = /^page:([1-9]\d{0,6})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1];
    const offset = Number(digits);
    if (digits !== undefined && offset % pageSize === 0 && offset < length && cursorAt(offset) === cursor)
      return offset;
  }
  throw new RpcFailure('INVALID_PARAM_VALUE', 'Parameter "cursor" was not handed out by this list.', {
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
