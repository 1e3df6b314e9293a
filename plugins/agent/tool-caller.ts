import type { OpenTurn } from 'mortise/contracts/sessions';
import type { ToolContext } from 'mortise/sdk';

/** On whose behalf a tool is called. */
export type ToolCaller = Pick<ToolContext, 'caller' | 'session'>;

/** The turn as its tools see it, with the fence that outside systems can compare. */
export function callerOf(turn: OpenTurn, caller: ToolContext['caller']): ToolCaller {
  const { sessionId, userId, channel } = turn.chat.session;
  return {
    caller,
    session: { key: turn.sessionKey, sessionId, userId, channel, turnId: turn.turnId, epoch: turn.epoch },
  };
}
