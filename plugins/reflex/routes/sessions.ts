import type { ConversationService, SessionSummary } from 'mortise/contracts/conversation';
import { MortiseError, type Route } from 'mortise/sdk';

/** `GET /gate/sessions`: the sessions in memory, newest activity first; the next page is named in a header. */
export function sessionsRoute(conversation: ConversationService): Route {
  return {
    handle: ({ query }, ctx) => {
      const limit = readLimit(query.get('limit'));
      const all = conversation.sessions();
      const from = startOf(all, query.get('cursor'));
      const page = all.slice(from, from + limit);
      const last = page.at(-1);
      if (last && from + limit < all.length) ctx.setHeader('X-Next-Cursor', cursorOf(last));
      return { body: page.map(shown) };
    },
  };
}

/** A page begins after a moment, not after a number: sessions that were active meanwhile move to the front. */
function startOf(all: readonly SessionSummary[], cursor: string | null): number {
  if (cursor === null) return 0;
  const [at, key] = Buffer.from(cursor, 'base64url').toString().split('\n');
  const moment = Number(at);
  if (key === undefined || !Number.isFinite(moment)) {
    throw new MortiseError('invalid_request', 'cursor is not one that this route has given.', { status: 400 });
  }
  const known = all.findIndex((one) => one.session_key === key && momentOf(one) === moment);
  if (known >= 0) return known + 1;
  const next = all.findIndex((one) => momentOf(one) < moment);
  return next < 0 ? all.length : next;
}

function cursorOf(last: SessionSummary): string {
  return Buffer.from(`${momentOf(last)}\n${last.session_key}`).toString('base64url');
}

function momentOf({ last_active_at, created_at }: SessionSummary): number {
  return last_active_at ?? created_at;
}

function readLimit(text: string | null): number {
  if (text === null) return 20;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= 200) return limit;
  throw new MortiseError('invalid_request', 'limit must be a whole number from 1 to 200.', { status: 400 });
}

function shown({ created_at, last_active_at, ...rest }: SessionSummary) {
  return {
    ...rest,
    created_at: new Date(created_at).toISOString(),
    last_active_at: last_active_at === null ? null : new Date(last_active_at).toISOString(),
  };
}
