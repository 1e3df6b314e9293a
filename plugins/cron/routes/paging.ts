import type { RouteContext } from 'mortise/sdk';
import { cronError } from '../errors.js';

/** The query's `limit`. @throws MortiseError `invalid_request` */
export function readLimit(query: URLSearchParams, usual: number, most: number): number {
  const text = query.get('limit');
  if (text === null) return usual;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= most) return limit;
  throw cronError('invalid_request', { message: `limit must be an integer from 1 to ${most}` });
}

/** The position of the query's `cursor`: this many texts. @throws MortiseError `invalid_request` */
export function readCursor(query: URLSearchParams, members: 1): readonly [string] | undefined;
export function readCursor(query: URLSearchParams, members: 2): readonly [string, string] | undefined;
export function readCursor(query: URLSearchParams, members: number): readonly string[] | undefined {
  const text = query.get('cursor');
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (Array.isArray(value) && value.length === members && value.every((one) => typeof one === 'string')) return value;
  } catch {
    // All malformed cursors get the same error.
  }
  throw cronError('invalid_request', { message: 'invalid cursor' });
}

/** The rows of a page, of which one more was read; sets `X-Next-Cursor` when there are more. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => readonly string[],
  ctx: Pick<RouteContext, 'setHeader'>,
): readonly Row[] {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (rows.length > limit && last !== undefined) {
    ctx.setHeader('X-Next-Cursor', Buffer.from(JSON.stringify(positionOf(last))).toString('base64url'));
  }
  return page;
}
