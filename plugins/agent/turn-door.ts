import type { TurnDoor } from 'mortise/contracts/agent';
import { admitTurn, socketChannel } from './admit-turn.js';
import { usableChannel } from './dispatch-reply.js';
import { isNewCommand } from './input-messages.js';
import { newChatReply } from './new-chat.js';
import type { ProcessParts } from './process-parts.js';
import { submitForFace } from './submit-for-face.js';

/** The service `turn-door`: what `/agent/process` does, for doors of other plugins. */
export function turnDoor(parts: ProcessParts): TurnDoor {
  return {
    isCommand: isNewCommand,
    async runCommand(session) {
      await parts.sessions.startAnew(session);
      return newChatReply;
    },
    async admit(asked, ctx) {
      const { channel } = asked.session;
      if (channel !== socketChannel) usableChannel(parts.channels, channel);
      return admitTurn(parts, asked, ctx);
    },
    submit: (admitted, face, ctx) => submitForFace(parts, admitted, face, ctx),
  };
}
