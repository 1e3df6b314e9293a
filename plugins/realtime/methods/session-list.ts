import { invalidParams } from '../errors.js';
import type { Json } from '../json.js';
import type { Method } from '../method.js';
import { readInteger, readOwner } from '../params.js';

/** `session.list`: a user's sessions, last used first. */
export const sessionList: Method = async (params, { ctx }, { sessions }) => {
  const owner = readOwner(params, ctx.principal);
  const limit = readInteger(params, 'limit', 1, 100) ?? 50;
  const found = await sessions.listSessions({ ...owner, limit: limit + 1, after: readCursor(params) });
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    sessions: shown.map(({ session, title, createdAt, updatedAt, messageCount, busy }) => ({
      session_id: session.sessionId,
      title,
      created_at: new Date(createdAt).toISOString(),
      updated_at: new Date(updatedAt).toISOString(),
      message_count: messageCount,
      busy,
    })),
    next_cursor: found.length > limit && last ? writeCursor(last.updatedAt, last.session.sessionId) : null,
  };
};

function writeCursor(updatedAt: number, sessionId: string): string {
  return Buffer.from(JSON.stringify([updatedAt, sessionId])).toString('base64url');
}

function readCursor({ cursor }: Json): { readonly updatedAt: number; readonly sessionId: string } | undefined {
  if (cursor === undefined || cursor === null) return undefined;
  if (typeof cursor === 'string') {
    try {
      const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
      const [updatedAt, sessionId] = Array.isArray(value) ? (value as readonly unknown[]) : [];
      if (Number.isSafeInteger(updatedAt) && typeof sessionId === 'string') {
        return { updatedAt: Number(updatedAt), sessionId };
      }
    } catch {
      // Whatever is wrong with it, the answer is the same.
    }
  }
  throw invalidParams('cursor', 'is not one that was given out');
}
