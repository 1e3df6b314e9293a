import { errorOf, type TurnRequest } from 'mortise/contracts/agent';
import type { HandlerContext, ObservationHandler } from 'mortise/contracts/conversation';
import type { SessionsService } from 'mortise/contracts/sessions';
import type { Observation } from 'mortise/sdk';
import { agentError } from './errors.js';
import { isNewCommand, newChatReply } from './input-messages.js';
import { runTurn } from './run-turn.js';
import { publishReply } from './send-reply.js';
import type { TurnDeps } from './turn-deps.js';

/** Failures that are not faults. */
const requestedEnds: readonly string[] = ['turn_cancelled', 'client_closed', 'server_shutdown', 'plugin_stopping'];

/** Runs a turn for each message: with the request of the entry point that submitted it, else with the message's text. */
export function turnHandler(deps: TurnDeps): ObservationHandler {
  return {
    types: ['message'],
    // A turn enforces its own time limit.
    timeoutMs: 0,
    async handle(observation: Observation, ctx: HandlerContext) {
      if (isTurnRequest(ctx.request)) return runTurn(deps, withFlags(ctx.request, observation), ctx);
      const request = requestOf(observation, ctx.sessionKey, deps.sessions, deps.now() + deps.wait.timeoutMs);
      if (isNewCommand(request.input)) {
        await deps.sessions.startAnew(request.session);
        publishReply({ text: newChatReply }, ctx);
        return undefined;
      }
      const result = await runTurn(deps, request, ctx);
      // No caller waits for the result: a failure that is not thrown would not be reported anywhere.
      if (result.kind === 'failed' && !requestedEnds.includes(result.error.code)) throw errorOf(result.error);
      return result;
    },
  };
}

function isTurnRequest(request: unknown): request is TurnRequest {
  return typeof request === 'object' && request !== null && 'session' in request && 'waitUntil' in request;
}

/** Stores the quality flags of the observation with its user messages. */
function withFlags(request: TurnRequest, { quality_flags }: Observation): TurnRequest {
  if (quality_flags.length === 0) return request;
  const input = request.input.map((message) =>
    message.role === 'user' ? { ...message, meta: { ...message.meta, quality_flags } } : message,
  );
  return { ...request, input };
}

/** The request of a message that was published without one. Its reply is sent through egress. */
function requestOf(
  observation: Observation,
  sessionKey: string,
  sessions: SessionsService,
  waitUntil: number,
): TurnRequest {
  const session = sessions.parseKey(sessionKey);
  if (!session) throw agentError('invalid_request', { message: 'the session key of the message is not valid' });
  const { text, attachments } = observation.payload;
  const others = Array.isArray(attachments) ? attachments : [];
  const content = typeof text === 'string' ? text : '';
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
