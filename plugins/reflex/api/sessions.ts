import type { ConversationService, SessionSummary } from 'mortise/contracts/conversation';
import { readListLimit } from 'mortise/contracts/gate';
import { MortiseError, type Route } from 'mortise/sdk';

/** `GET /gate/sessions`: the sessions in memory that the principal may see, newest activity first; `X-Next-Cursor` is the cursor of the next page. */
export function sessionsRoute(conversation: ConversationService): Route {
  return {
    handle: ({ query }, ctx) => {
      const limit = readListLimit(query.get('limit'));
      const { principal } = ctx;
      const all = conversation.sessions().filter(({ session_key: key }) => conversation.maySee(principal, key));
      const from = startOf(all, query.get('cursor'));
      const page = all.slice(from, from + limit);
      const last = page.at(-1);
      if (last && from + limit < all.length) ctx.setHeader('X-Next-Cursor', cursorOf(last));
      return { body: page.map(rowOf) };
    },
  };
}

/** A cursor is a point in time, not an offset: sessions that become active meanwhile move to the front. */
function startOf(all: readonly SessionSummary[], cursor: string | null): number {
  if (cursor === null) return 0;
  const [at, key] = Buffer.from(cursor, 'base64url').toString().split('\n');
  const activity = Number(at);
  if (key === undefined || !Number.isFinite(activity)) {
    throw new MortiseError('invalid_request', 'cursor is not valid.', { status: 400 });
  }
  const known = all.findIndex((one) => one.session_key === key && activityOf(one) === activity);
  if (known >= 0) return known + 1;
  const next = all.findIndex((one) => activityOf(one) < activity);
  return next < 0 ? all.length : next;
}

function cursorOf(last: SessionSummary): string {
  return Buffer.from(`${activityOf(last)}\n${last.session_key}`).toString('base64url');
}

function activityOf({ last_active_at, created_at }: SessionSummary): number {
  return last_active_at ?? created_at;
}

function rowOf({ created_at, last_active_at, ...rest }: SessionSummary) {
  return {
    ...rest,
    created_at: new Date(created_at).toISOString(),
    last_active_at: last_active_at === null ? null : new Date(last_active_at).toISOString(),
  };
}
