import { wireError } from '../errors.js';
import type { Method } from '../method.js';
import { readSession } from '../params.js';

/** `session.watch`: replies in the session are pushed under this request's id, whoever asked for them. */
export const sessionWatch: Method = async (params, { id, ctx, socket }, { sessions, watchers }) => {
  const session = readSession(params, ctx.principal);
  const sessionKey = sessions.key(session);
  if (!socket.watch(sessionKey)) throw wireError('RATE_LIMITED', 'Too many watched sessions');
  watchers.add(sessionKey, socket, { id, session });
  return { watching: true };
};

/** `session.unwatch`: no pushes any more. */
export const sessionUnwatch: Method = async (params, { ctx, socket }, { sessions, watchers }) => {
  const sessionKey = sessions.key(readSession(params, ctx.principal));
  socket.unwatch(sessionKey);
  watchers.remove(sessionKey, socket);
  return { watching: false };
};
