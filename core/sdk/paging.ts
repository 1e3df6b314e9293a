import { MortiseError } from './errors.js';

/** Default and maximum of `limit`. */
const maxEntries = 1_000;

/** What decides the place of an entry in its list. */
type Position = readonly (string | number)[];

type Header = { setHeader(name: string, value: string): void };

/** The parameter `limit`. @throws MortiseError `invalid_request` (400) */
export function readLimit(text: string | null, usual = maxEntries, max = maxEntries): number {
  if (text === null) return usual;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= max) return limit;
  throw invalid(`limit must be an integer from 1 to ${max}`);
}

/** The cursor of the page after an entry at this position. */
export function writeCursor(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/**
 * The position that {@link writeCursor} encoded.
 *
 * @param shape the types of its members
 * @throws MortiseError `invalid_request` (400)
 */
export function readCursor<Shape extends readonly ('string' | 'number')[]>(
  text: string | null,
  ...shape: Shape
): { readonly [I in keyof Shape]: Shape[I] extends 'number' ? number : string } | undefined {
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (Array.isArray(value) && value.length === shape.length && shape.every((type, i) => isMember(value[i], type))) {
      return value as unknown as { readonly [I in keyof Shape]: Shape[I] extends 'number' ? number : string };
    }
  } catch {
    // Every malformed cursor gets the same answer.
  }
  throw invalid('invalid cursor');
}

function isMember(value: unknown, type: 'string' | 'number'): boolean {
  return type === 'number' ? Number.isSafeInteger(value) : typeof value === 'string';
}

/** The rows of a page, of which one more was read; sets `X-Next-Cursor` when there are more. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => Position,
  ctx: Header,
): readonly Row[] {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (rows.length > limit && last !== undefined) ctx.setHeader('X-Next-Cursor', writeCursor(positionOf(last)));
  return page;
}

/** The parameters of a list as they were sent. */
interface PageQuery {
  readonly limit: string | null;
  /** `X-Next-Cursor` of the previous page. */
  readonly cursor: string | null;
}

/**
 * A page of a list that is in memory; sets `X-Next-Cursor` when there are more entries.
 *
 * @param nameOf the unique name of an entry. If the entry of the cursor was removed, the page begins at the next name in order.
 * @throws MortiseError `invalid_request` (400)
 * @example
 * handle: ({ query }, ctx) => {
 *   const asked = { limit: query.get('limit'), cursor: query.get('cursor') };
 *   return { body: listPage(tools, ({ name }) => name, asked, ctx) };
 * }
 */
export function listPage<Entry>(
  entries: readonly Entry[],
  nameOf: (entry: Entry) => string,
  { limit, cursor }: PageQuery,
  ctx: Header,
): readonly Entry[] {
  const size = readLimit(limit);
  const [after] = readCursor(cursor, 'string') ?? [];
  const from = after === undefined ? 0 : startAfter(entries.map(nameOf), after);
  return pageOf(entries.slice(from, from + size + 1), size, (entry) => [nameOf(entry)], ctx);
}

function startAfter(names: readonly string[], name: string): number {
  const known = names.indexOf(name);
  if (known >= 0) return known + 1;
  const next = names.findIndex((one) => one > name);
  return next < 0 ? names.length : next;
}

function invalid(message: string): MortiseError {
  return new MortiseError('invalid_request', message, { status: 400 });
}
