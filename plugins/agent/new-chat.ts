import type { TurnEvent } from 'mortise/contracts/agent';
import type { RouteContext, RouteResponse } from 'mortise/sdk';
import { dispatchReply } from './dispatch-reply.js';
import { failureOf } from './errors.js';
import type { ProcessRequest } from './process-request.js';
import { errorFrame, eventFrame, streamEnd } from './sse.js';
import type { TurnParts } from './turn-parts.js';

/** What the command `/new` is answered with. */
export const newChatReply = '上下文已清理，已开始新会话。';

/** The events of the command: no model is asked and no turn is recorded. */
const newChatEvents: readonly TurnEvent[] = [
  { type: 'step_started', step: 1 },
  { type: 'assistant_delta', step: 1, delta: newChatReply },
  { type: 'completed', step: 1, reply: newChatReply, meta: {} },
];

/** A command of this door: it concerns the running turn, so it is acted on at once and never queued behind it. */
export async function startNewChat(
  parts: TurnParts,
  { session, stream }: ProcessRequest,
  ctx: RouteContext,
): Promise<RouteResponse> {
  await parts.sessions.startAnew(session);
  const dispatch = { session, text: newChatReply, deliveryId: ctx.requestId };
  if (!stream) {
    await dispatchReply(parts.points, parts.channels, dispatch, ctx);
    return { body: { reply: newChatReply, events: newChatEvents } };
  }
  const frames = async function* () {
    for (const event of newChatEvents) yield eventFrame(event);
    try {
      await dispatchReply(parts.points, parts.channels, dispatch, ctx);
    } catch (error) {
      const failure = failureOf(error);
      if (failure) yield errorFrame(failure);
    }
    yield streamEnd;
  };
  return { stream: frames(), sse: true };
}
