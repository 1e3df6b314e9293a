import type { HandlerContext, Observation, ObservationHandler, SessionsService, TurnRequest } from 'mortise/sdk';
import { isText } from './json.js';
import { runTurn } from './run-turn.js';
import type { TurnParts } from './turn-parts.js';

/** Messages become turns: those of a face with what it asks for, any other with its text, in its own session. */
export function turnHandler(parts: TurnParts, queueWaitMs: number): ObservationHandler {
  return {
    types: ['message'],
    async handle(observation: Observation, ctx: HandlerContext) {
      const request = isTurnRequest(ctx.request)
        ? ctx.request
        : requestOf(observation, ctx.sessionKey, parts.sessions, parts.now() + queueWaitMs);
      return request && runTurn(parts, request, ctx);
    },
  };
}

function isTurnRequest(request: unknown): request is TurnRequest {
  return typeof request === 'object' && request !== null && 'session' in request && 'waitUntil' in request;
}

/** A message that nobody waits for. Its reply leaves through egress. */
function requestOf(
  observation: Observation,
  sessionKey: string,
  sessions: SessionsService,
  waitUntil: number,
): TurnRequest | undefined {
  const session = sessions.parseKey(sessionKey);
  if (!session) return undefined;
  const { text, attachments } = observation.payload;
  const others = Array.isArray(attachments) ? attachments : [];
  const content = isText(text) ? text : '';
  return {
    session,
    input: [
      {
        role: 'user',
        content,
        ...(others.length === 0 ? {} : { parts: [{ type: 'text', text: content }, ...others] }),
        ...(observation.quality_flags.length === 0 ? {} : { meta: { quality_flags: observation.quality_flags } }),
      },
    ],
    waitUntil,
  };
}
