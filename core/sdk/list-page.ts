import { MortiseError } from './errors.js';

/** Entries of a list without `limit`, and the most that one may ask for. */
const most = 1_000;

/** The parameters of a list as they were sent. */
export interface PageQuery {
  readonly limit: string | null;
  /** `X-Next-Cursor` of the page before. */
  readonly cursor: string | null;
}

/**
 * A page of a list that is in memory; sets `X-Next-Cursor` when there are more entries.
 *
 * @param nameOf what is unique among the entries. An entry that is gone meanwhile is looked for by the order of names.
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
    // Every malformed cursor gets the same answer.
  }
  throw invalid('invalid cursor');
}

function invalid(message: string): MortiseError {
  return new MortiseError('invalid_request', message, { status: 400 });
}
