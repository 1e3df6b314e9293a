import type { ConversationService, Route, RouteContext, TurnEvent, TurnRequest } from 'mortise/sdk';
import { type BusinessParams, readBusinessParams } from './business-params.js';
import { usableChannel } from './dispatch-reply.js';
import { agentError } from './errors.js';
import { readIdempotency } from './idempotency.js';
import { attachments, isNewCommand, userText } from './input-messages.js';
import { startNewChat } from './new-chat.js';
import { type ProcessRequest, readProcessRequest } from './process-request.js';
import { resolveModel } from './resolve-model.js';
import { replay } from './stored-answer.js';
import { submitTurn } from './submit-turn.js';
import { buildLayers } from './system-layers.js';
import type { TurnParts } from './turn-parts.js';

export interface ProcessParts extends TurnParts {
  readonly conversation: ConversationService;
  readonly queueLimit: number;
  readonly queueWaitMs: number;
}

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
      const params = readBusinessParams(request.business);
      await checkEarly(parts, request, params, ctx);
      const idempotency = readIdempotency(headers['idempotency-key'], params.requestId, body);
      const stored = idempotency && (await parts.sessions.findReplay(session, idempotency));
      if (stored) {
        const events = stored.events as readonly TurnEvent[];
        return replay({ turnId: stored.turnId, reply: stored.reply ?? '', events }, stream, ctx);
      }
      return submitTurn(parts, request, turnRequest(parts, request, params, idempotency), ctx);
    },
  };
}

/** What a turn will resolve again once it has its session: asked now, so that a hopeless request writes nothing. */
async function checkEarly(
  parts: ProcessParts,
  { session, input }: ProcessRequest,
  params: BusinessParams,
  ctx: RouteContext,
): Promise<void> {
  const chat = await parts.sessions.currentChat(session);
  const stored = chat?.meta.prompt_mode;
  const promptMode = params.promptMode ?? (stored === 'codex' || stored === 'claude' ? stored : 'default');
  if (params.collaboration && promptMode !== 'codex') {
    const message = 'collaboration mode is only supported when prompt_mode=codex';
    throw agentError('invalid_request', { message });
  }
  if (parts.prompts.list().length > 0 || promptMode !== 'default') {
    await buildLayers(parts.points, parts.prompts, { promptMode, userText: userText(input) }, ctx);
  }
  const model = resolveModel(parts.providers);
  if (!model.capabilities.attachments && attachments(input).length > 0) throw agentError('provider_not_supported');
}

function turnRequest(
  parts: ProcessParts,
  { session, input }: ProcessRequest,
  params: BusinessParams,
  idempotency: TurnRequest['idempotency'],
): TurnRequest {
  return {
    session,
    input,
    idempotency,
    promptMode: params.promptMode,
    chatMeta: params.chatMeta,
    maxSteps: params.maxSteps,
    debug: params.debug,
    dispatch: params.channelConfig ? { config: params.channelConfig } : {},
    waitUntil: parts.now() + parts.queueWaitMs,
  };
}
