import { MortiseError } from './errors.js';

/** Default and maximum of `limit`. */
const most = 1_000;

/** The parameters of a list as they were sent. */
export interface PageQuery {
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
  ctx: { setHeader(name: string, value: string): void },
): readonly Entry[] {
  const size = limit === null ? most : /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (size < 1 || size > most) throw invalid(`limit must be an integer from 1 to ${most}`);
  const from = cursor === null ? 0 : startAfter(entries.map(nameOf), nameIn(cursor));
  const page = entries.slice(from, from + size);
  const last = page.at(-1);
  if (last !== undefined && from + size < entries.length)
    ctx.setHeader('X-Next-Cursor', Buffer.from(JSON.stringify([nameOf(last)])).toString('base64url'));
  return page;
}

function startAfter(names: readonly string[], name: string): number {
  const known = names.indexOf(name);
  if (known >= 0) return known + 1;
  const next = names.findIndex((one) => one > name);
  return next < 0 ? names.length : next;
}

function nameIn(cursor: string): string {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(value) && value.length === 1 && typeof value[0] === 'string') return value[0];
  } catch {
    // All malformed cursors get the same error.
  }
  throw invalid('invalid cursor');
}

function invalid(message: string): MortiseError {
  return new MortiseError('invalid_request', message, { status: 400 });
}
