import type { AdmittedTurn, CallContext, Observation, SessionRef, TurnAsked } from 'mortise/sdk';
import { type BusinessParams, readBusinessParams } from './business-params.js';
import { agentError } from './errors.js';
import { attachments, userText } from './input-messages.js';
import { resolveModel } from './resolve-model.js';
import { buildLayers } from './system-layers.js';
import type { TurnParts } from './turn-parts.js';

/** The channel of the realtime socket: its replies leave through the socket itself. */
export const socketChannel = 'ws';

/**
 * What a turn will resolve again once it has its session: asked now, so that a hopeless request writes nothing.
 *
 * @throws invalid_request and its kin, the prompt's `*_unavailable`, `provider_not_supported`
 */
export async function admitTurn(parts: TurnParts, asked: TurnAsked, ctx: CallContext): Promise<AdmittedTurn> {
  const { session, input } = asked;
  const params = readBusinessParams(asked.business);
  await checkEarly(parts, asked, params, ctx);
  return {
    request: {
      session,
      input,
      promptMode: params.promptMode,
      chatMeta: params.chatMeta,
      maxSteps: params.maxSteps,
      debug: params.debug,
      dispatch: dispatchOf(session, params),
      waitUntil: 0,
    },
    payload: { text: userText(input), attachments: attachments(input).slice(0, 32).map(asAttachment) },
    requestId: params.requestId,
  };
}

async function checkEarly(
  parts: TurnParts,
  { session, input }: TurnAsked,
  params: BusinessParams,
  ctx: CallContext,
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

function dispatchOf({ channel }: SessionRef, { channelConfig }: BusinessParams): AdmittedTurn['request']['dispatch'] {
  if (channel === socketChannel) return undefined;
  return channelConfig ? { config: channelConfig } : {};
}

function asAttachment({ type, ...rest }: { readonly type: string }, index: number): Observation['payload'] {
  return {
    id: `att-${index}`,
    kind: ['image', 'file', 'audio', 'video'].includes(type) ? type : 'unknown',
    extra: rest,
  };
}
