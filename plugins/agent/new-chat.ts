import type { TurnEvent } from 'mortise/sdk';

/** What the command `/new` is answered with. */
export const newChatReply = '上下文已清理，已开始新会话。';

/** The events of the command: no model is asked and no turn is recorded. */
export const newChatEvents: readonly TurnEvent[] = [
  { type: 'step_started', step: 1 },
  { type: 'assistant_delta', step: 1, delta: newChatReply },
  { type: 'completed', step: 1, reply: newChatReply, meta: {} },
];
