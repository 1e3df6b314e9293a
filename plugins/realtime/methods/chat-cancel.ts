import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionRef, SessionsService } from 'mortise/contracts/sessions';
import { invalidParams } from '../errors.js';
import type { LiveSend } from '../live-sends.js';
import type { Method } from '../method.js';
import { readSession } from '../params.js';

/** How long to wait for the end of a turn of another entry point or process, milliseconds. */
const waitMs = 10_000;
const pollMs = 50;

/** `chat.cancel`: ends a turn, and answers once it has ended. */
export const chatCancel: Method = async (params, { ctx, socket }, { live, sessions }) => {
  const { request_id: requestId, session_id: sessionId } = params;
  if (requestId !== undefined) {
    if (typeof requestId !== 'string') throw invalidParams('request_id', 'must be a string');
    return cancelSend(socket.sending(requestId), requestId);
  }
  if (sessionId === undefined) throw invalidParams('request_id', 'or session_id is required');
  const session = readSession(params, ctx.principal);
  const send = live.get(sessions.key(session));
  if (send) return cancelSend(send, send.facts.requestId);
  return { cancelled: await cancelElsewhere(sessions, session, ctx.signal), request_id: null };
};

async function cancelSend(send: LiveSend | undefined, requestId: string): Promise<object> {
  send?.cancel();
  return { cancelled: (await send?.ended) === 'cancelled', request_id: requestId };
}

/** Cancels a turn that no socket of this process waits for, through the store. */
async function cancelElsewhere(sessions: SessionsService, session: SessionRef, signal: AbortSignal): Promise<boolean> {
  const running = await sessions.runningTurn(session);
  if (!running || !(await sessions.cancelTurn(running.turnId))) return false;
  for (let left = waitMs; left > 0; left -= pollMs) {
    const turn = await sessions.getTurn(running.turnId);
    if (!turn) return true;
    if (turn.status !== 'running') return turn.status === 'cancelled';
    await sleep(pollMs, undefined, { signal });
  }
  return false;
}
