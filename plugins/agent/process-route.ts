import type { TurnEvent } from 'mortise/contracts/agent';
import type { Route } from 'mortise/sdk';
import { admitTurn } from './admit-turn.js';
import { usableChannel } from './dispatch-reply.js';
import { agentError } from './errors.js';
import { readIdempotency } from './idempotency.js';
import { isNewCommand } from './input-messages.js';
import { startNewChat } from './new-chat.js';
import type { ProcessParts } from './process-parts.js';
import { readProcessRequest } from './process-request.js';
import { replay } from './stored-answer.js';
import { submitTurn } from './submit-turn.js';

/** `POST /agent/process`: the HTTP door to a turn. All that can be refused is refused before anything is written. */
export function processRoute(parts: ProcessParts): Route {
  return {
    async handle({ body, headers }, ctx) {
      const request = readProcessRequest(body);
      const { session, input, stream } = request;
      if (ctx.principal.actor !== undefined && ctx.principal.actor !== session.userId) {
        throw agentError('actor_mismatch');
      }
      usableChannel(parts.channels, session.channel);
      ctx.setHeader('X-Trace-Id', ctx.trace.traceId);
      if (isNewCommand(input)) return startNewChat(parts, request, ctx);
      const admitted = await admitTurn(parts, request, ctx);
      const idempotency = readIdempotency(headers['idempotency-key'], admitted.requestId, body);
      const stored = idempotency && (await parts.sessions.findReplay(session, idempotency));
      if (stored) {
        const events = stored.events as readonly TurnEvent[];
        return replay({ turnId: stored.turnId, reply: stored.reply ?? '', events }, stream, ctx);
      }
      const waitUntil = parts.now() + parts.queueWaitMs;
      return submitTurn(parts, stream, { ...admitted, request: { ...admitted.request, idempotency, waitUntil } }, ctx);
    },
  };
}
