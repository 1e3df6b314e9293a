import type { TurnRequest, TurnResult } from 'mortise/contracts/agent';
import type { HandlerContext, ObservationHandler } from 'mortise/contracts/conversation';
import type { SessionsService } from 'mortise/contracts/sessions';
import type { Observation } from 'mortise/sdk';
import { agentError, errorOf } from './errors.js';
import { isText } from './json.js';
import { runTurn } from './run-turn.js';
import type { TurnParts } from './turn-parts.js';

/** Messages become turns: those of a face with what it asks for, any other with its text, in its own session. */
export function turnHandler(parts: TurnParts, queueWaitMs: number): ObservationHandler {
  return {
    types: ['message'],
    // A turn has its own limit.
    timeoutMs: 0,
    async handle(observation: Observation, ctx: HandlerContext) {
      if (isTurnRequest(ctx.request)) return runTurn(parts, flagged(ctx.request, observation), ctx);
      const request = requestOf(observation, ctx.sessionKey, parts.sessions, parts.now() + queueWaitMs);
      return told(await runTurn(parts, request, ctx));
    },
  };
}

function isTurnRequest(request: unknown): request is TurnRequest {
  return typeof request === 'object' && request !== null && 'session' in request && 'waitUntil' in request;
}

/** What is doubtful about the message goes with what its user said. */
function flagged(request: TurnRequest, { quality_flags }: Observation): TurnRequest {
  if (quality_flags.length === 0) return request;
  const input = request.input.map((message) =>
    message.role === 'user' ? { ...message, meta: { ...message.meta, quality_flags } } : message,
  );
  return { ...request, input };
}

/** Ends that somebody has asked for. */
const wanted: readonly string[] = ['turn_cancelled', 'client_closed', 'server_shutdown'];

/** Nobody waits for the turn: a failure that is not thrown would be known to no one. */
function told(result: TurnResult): TurnResult {
  if (result.kind === 'failed' && !wanted.includes(result.error.code)) throw errorOf(result.error);
  return result;
}

/** A message that nobody waits for. Its reply leaves through egress. */
function requestOf(
  observation: Observation,
  sessionKey: string,
  sessions: SessionsService,
  waitUntil: number,
): TurnRequest {
  const session = sessions.parseKey(sessionKey);
  if (!session) throw agentError('invalid_request', { message: 'the key of the message names no session' });
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
