import type { AdmittedTurn, DirectToolCall, TurnAsked } from 'mortise/contracts/agent';
import type { Chat, SessionRef } from 'mortise/contracts/sessions';
import type { CallContext, Observation } from 'mortise/sdk';
import { type BusinessParams, type PromptMode, readBusinessParams } from './business-params.js';
import { checkInput } from './context-budget.js';
import { readDirectToolCall } from './direct-tool-call.js';
import { agentError, failureOf } from './errors.js';
import { attachments, userText } from './input-messages.js';
import { chooseSlot } from './model-slot.js';
import { resolveModel } from './resolve-model.js';
import { buildLayers } from './system-layers.js';
import { directToolError } from './tool-errors.js';
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
  const { chat, promptMode } = await checkParams(parts, asked, params);
  const tool = await directTool(parts, asked, ctx);
  // A tool that is named is called without a prompt and without a model.
  if (!tool) await checkModel(parts, asked, chat, promptMode, ctx);
  return {
    request: {
      session,
      input,
      promptMode: params.promptMode,
      chatMeta: params.chatMeta,
      maxSteps: params.maxSteps,
      debug: params.debug,
      tool,
      dispatch: dispatchOf(session, params),
      waitUntil: 0,
    },
    payload: {
      text: userText(input),
      attachments: attachments(input).slice(0, 32).map(asAttachment),
      ...(tool ? { extra: { tool_call: { name: tool.name } } } : {}),
    },
    requestId: params.requestId,
  };
}

async function checkParams({ sessions }: TurnParts, { session }: TurnAsked, params: BusinessParams) {
  const chat = await sessions.currentChat(session);
  const stored = chat?.meta.prompt_mode;
  const promptMode = params.promptMode ?? (stored === 'codex' || stored === 'claude' ? stored : 'default');
  if (params.collaboration && promptMode !== 'codex') {
    const message = 'collaboration mode is only supported when prompt_mode=codex';
    throw agentError('invalid_request', { message });
  }
  return { chat, promptMode } as const;
}

async function directTool(parts: TurnParts, asked: TurnAsked, ctx: CallContext): Promise<DirectToolCall | undefined> {
  const { business, shortcuts = {} } = asked;
  const { tools } = parts;
  try {
    const call = readDirectToolCall(business, shortcuts, (name) => tools.find(name));
    const refused = call && (await tools.refusal(call, ctx));
    if (refused) throw directToolError(call.name, refused);
    return call;
  } catch (error) {
    auditDisabled(parts, error, ctx);
    throw error;
  }
}

/** A caller who names a tool that was switched off is in the audit trail. */
function auditDisabled({ refused }: TurnParts, error: unknown, { principal, correlationId }: CallContext): void {
  const failure = failureOf(error);
  if (failure?.code !== 'tool_disabled') return;
  refused({ reason: 'forbidden', subject: principal.id, target: String(failure.details?.tool), correlationId });
}

async function checkModel(
  parts: TurnParts,
  { input }: TurnAsked,
  chat: Chat | undefined,
  promptMode: PromptMode,
  ctx: CallContext,
): Promise<void> {
  if (parts.prompts.list().length > 0 || promptMode !== 'default') {
    await buildLayers(parts.points, parts.prompts, { promptMode, userText: userText(input) }, ctx);
  }
  const model = resolveModel(chooseSlot(chat?.meta ?? {}, parts.model), parts.providers);
  if (!model.capabilities.attachments && attachments(input).length > 0) throw agentError('provider_not_supported');
  checkInput(model.limits, input);
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
