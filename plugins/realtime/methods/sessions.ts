import { type JsonObject, readCursor, writeCursor } from 'mortise/sdk';
import { invalidParams, wireError } from '../errors.js';
import type { Method } from '../method.js';
import { readInteger, readOwner, readSession } from '../params.js';

/** `session.list`: a user's sessions, last used first. */
export const sessionList: Method = async (params, { ctx }, { sessions }) => {
  const owner = readOwner(params, ctx.principal);
  const limit = readInteger(params, 'limit', 1, 100) ?? 50;
  const found = await sessions.listSessions({ ...owner, limit: limit + 1, after: positionIn(params) });
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
    next_cursor: found.length > limit && last ? writeCursor([last.updatedAt, last.session.sessionId]) : null,
  };
};

function positionIn({ cursor }: JsonObject): { readonly updatedAt: number; readonly sessionId: string } | undefined {
  if (cursor === undefined || cursor === null) return undefined;
  try {
    const [updatedAt, sessionId] = readCursor(String(cursor), 'number', 'string') ?? [];
    if (updatedAt !== undefined && sessionId !== undefined) return { updatedAt, sessionId };
  } catch {
    // Reported with the name of the parameter.
  }
  throw invalidParams('cursor', 'is not valid');
}

/** `session.watch`: all replies in the session are pushed with this request's id. */
export const sessionWatch: Method = async (params, { id, ctx, socket }, { sessions, watchers }) => {
  const session = readSession(params, ctx.principal);
  const sessionKey = sessions.key(session);
  if (!socket.watch(sessionKey)) throw wireError('RATE_LIMITED', 'Too many watched sessions');
  watchers.add(sessionKey, socket, { id, session });
  return { watching: true };
};

/** `session.unwatch`: ends the pushes. */
export const sessionUnwatch: Method = async (params, { ctx, socket }, { sessions, watchers }) => {
  const sessionKey = sessions.key(readSession(params, ctx.principal));
  socket.unwatch(sessionKey);
  watchers.remove(sessionKey, socket);
  return { watching: false };
};
