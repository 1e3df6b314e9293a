import { sessionError } from '../errors.js';

/** The longest list without paging, and the largest page. */
export const listLimit = 1_000;

/** The query's `limit`; the whole list (up to 1,000) when absent. */
export function readLimit(query: URLSearchParams): number {
  const text = query.get('limit');
  if (text === null) return listLimit;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > listLimit) {
    throw sessionError('invalid_request', { message: 'limit must be an integer from 1 to 1000' });
  }
  return limit;
}

export function writeCursor(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** The position that {@link writeCursor} encoded. `shape` names the types of its members. */
export function readCursor<Shape extends readonly ('string' | 'number')[]>(
  query: URLSearchParams,
  ...shape: Shape
): { readonly [I in keyof Shape]: Shape[I] extends 'number' ? number : string } | undefined {
  const text = query.get('cursor');
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (Array.isArray(value) && value.length === shape.length && shape.every((type, i) => isMember(value[i], type))) {
      return value as unknown as { readonly [I in keyof Shape]: Shape[I] extends 'number' ? number : string };
    }
  } catch {
    // Whatever is wrong with it, the answer is the same.
  }
  throw sessionError('invalid_request', { message: 'invalid cursor' });
}

function isMember(value: unknown, type: 'string' | 'number'): boolean {
  return type === 'number' ? Number.isSafeInteger(value) : typeof value === 'string';
}
