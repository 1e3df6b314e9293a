import type { SessionsService, TurnReply } from 'mortise/sdk';
import { isObject } from './json.js';
import type { Watchers } from './watchers.js';

/** What processes tell each other: where the reply is, never the reply. */
export const replyChannel = 'realtime-reply';

export function writeReply({ sessionKey, turnId, obsId, traceId }: TurnReply): string {
  return JSON.stringify([sessionKey, turnId, obsId, traceId]);
}

/** Sends a reply that was announced to all sockets that watch its session, but not to the one that asked for it. */
export async function pushReply(
  watchers: Watchers,
  sessions: Pick<SessionsService, 'getTurn'>,
  announced: string,
): Promise<void> {
  const [sessionKey, turnId, obsId, traceId] = JSON.parse(announced) as [string, string, string, string];
  const watches = watchers.of(sessionKey).filter(([watcher]) => !watcher.asked(turnId));
  if (watches.length === 0) return;
  const turn = await sessions.getTurn(turnId);
  if (!isObject(turn) || turn.reply === null) return;
  for (const [watcher, { id, session }] of watches) {
    watcher.push(id, {
      type: 'event',
      id,
      data: {
        kind: 'message',
        session_id: session.sessionId,
        role: 'assistant',
        content: turn.reply,
        obs_id: obsId,
        trace_id: traceId,
      },
    });
  }
}
