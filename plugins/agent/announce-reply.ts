import type { TurnEvent, TurnRequest, TurnResult } from 'mortise/contracts/agent';
import type { HandlerContext } from 'mortise/contracts/conversation';
import { dispatchReply } from './dispatch-reply.js';
import { failureOf } from './errors.js';
import type { LiveTurn, TurnParts } from './turn-parts.js';

/**
 * Tells of a turn that is complete: its caller, whoever follows the session, and its channel. Nothing here changes
 * the turn any more; a channel that fails is noted beside the result.
 */
export async function announceReply(
  parts: TurnParts,
  { turn, progress }: LiveTurn,
  request: TurnRequest,
  completed: Extract<TurnEvent, { type: 'completed' }>,
  ctx: HandlerContext,
): Promise<TurnResult> {
  const { reply } = completed;
  const result = { kind: 'completed', turnId: turn.turnId, reply, usage: progress.usage } as const;
  await ctx.port?.send(completed);
  const { session } = turn.chat;
  // The finished reply is an event of its own, which egress and watchers of the session see. It starts no turn.
  ctx.publish({
    source_name: 'agent:speaker',
    source_kind: 'internal',
    ingress: 'internal',
    actor: { actor_type: 'system', actor_id: 'agent' },
    payload: { text: reply },
    metadata: {
      direction: 'outbound',
      turn_id: turn.turnId,
      ...(ctx.port || request.dispatch ? { answered_by: session.channel } : {}),
    },
  });
  if (!request.dispatch) return result;
  try {
    const dispatch = { session, text: reply, deliveryId: turn.turnId, config: request.dispatch.config };
    await dispatchReply(parts.points, parts.channels, dispatch, ctx);
    return result;
  } catch (error) {
    return { ...result, dispatchError: failureOf(error) };
  }
}
