import type { AdmittedTurn, DirectToolCall, PreparedPrompt, TurnInput } from 'mortise/contracts/agent';
import type { Chat, SessionRef } from 'mortise/contracts/sessions';
import type { CallContext, JsonObject, Observation } from 'mortise/sdk';
import { checkInput } from './build-context.js';
import { buildLayers } from './build-layers.js';
import { type BusinessParams, effectiveMode, type PromptMode, readBusinessParams } from './business-params.js';
import { collaborationMeta, hasCollaboration, readCollaboration } from './collaboration.js';
import { readDirectToolCall } from './direct-tool-call.js';
import { agentError, failureOf } from './errors.js';
import { attachments, userText } from './input-messages.js';
import { promptRequest } from './prompt-request.js';
import { ownSlot } from './resolve-model.js';
import { usableChannel } from './send-reply.js';
import { directToolError } from './tool-errors.js';
import type { ToolScope } from './tool-registry.js';
import { toolScope } from './tool-scope.js';
import type { TurnDeps } from './turn-deps.js';

/** The channel of the realtime socket, which sends its replies itself. */
const socketChannel = 'ws';

/**
 * Makes the checks that the turn repeats once it has claimed its session, so that a request that must fail writes nothing.
 *
 * @throws channel_not_supported, channel_disabled, invalid_request, invalid_tool_input, `tool_*`, the prompt's
 *   `*_unavailable`, provider_not_found, provider_disabled, provider_not_supported, model_not_found, context_too_large
 */
export async function admitTurn(deps: TurnDeps, turn: TurnInput, ctx: CallContext): Promise<AdmittedTurn> {
  const { session, input } = turn;
  if (session.channel !== socketChannel) usableChannel(deps, session.channel);
  const params = readBusinessParams(turn.business);
  const chat = await deps.sessions.currentChat(session);
  const promptMode = effectiveMode(params.promptMode, chat?.meta ?? {});
  const chatMeta = { ...params.chatMeta, ...collaborationOf(turn, promptMode, chat, deps.now()) };
  const scope = toolScope(promptMode, chat?.meta ?? {}, chatMeta, params.runtimeTools);
  checkOfferedTools(deps, turn, scope);
  const tool = await directTool(deps, turn, scope, ctx);
  // A direct tool call needs neither a prompt nor a model.
  const meta = { ...chat?.meta, ...chatMeta, ...params.runtimeTools };
  const prompt = tool ? undefined : await preparePrompt(deps, turn, chat, { promptMode, meta }, ctx);
  return {
    request: {
      session,
      input,
      promptMode: params.promptMode,
      chatMeta,
      runtimeTools: params.runtimeTools,
      maxSteps: params.maxSteps,
      debug: params.debug,
      prompt,
      tool,
      dispatch: dispatchOf(session, params),
      model: turn.model,
      tools: turn.tools,
    },
    payload: {
      text: userText(input),
      attachments: attachments(input).slice(0, 32).map(asAttachment),
      ...(tool ? { extra: { tool_call: { name: tool.name } } } : {}),
    },
    requestId: params.requestId,
  };
}

/** @throws invalid_request when the parameters are not valid, or the mode is not codex */
function collaborationOf(
  { business }: TurnInput,
  promptMode: PromptMode,
  chat: Chat | undefined,
  now: number,
): JsonObject {
  if (promptMode === 'codex') return collaborationMeta(readCollaboration(business), chat?.meta ?? {}, now);
  if (!hasCollaboration(business)) return {};
  const message = 'collaboration mode is only supported when prompt_mode=codex';
  throw agentError('invalid_request', { message });
}

/** Checks the requested tools early, because a turn without one would fail in confusing ways. @throws tool_not_supported, tool_disabled */
function checkOfferedTools({ tools: { registry } }: TurnDeps, { tools = [] }: TurnInput, scope: ToolScope): void {
  for (const name of tools) {
    const found = registry.find(name, scope);
    const details = { tool: name };
    if (!found)
      throw agentError('tool_not_supported', { message: `there is no tool "${name}" for this turn`, details });
    if (found.disabled)
      throw agentError('tool_disabled', { message: `the tool "${name}" is disabled by server config`, details });
  }
}

async function directTool(
  deps: TurnDeps,
  turn: TurnInput,
  scope: ToolScope,
  ctx: CallContext,
): Promise<DirectToolCall | undefined> {
  const { tools, refused } = deps;
  try {
    const call = readDirectToolCall(turn.business, turn.shortcuts ?? {}, (name) => tools.registry.find(name, scope));
    const refusal = call && (await tools.refusal(call, scope, ctx));
    if (refusal) throw directToolError(call.name, refusal);
    return call;
  } catch (error) {
    const failure = failureOf(error);
    if (failure?.code === 'tool_disabled') {
      const { principal, correlationId } = ctx;
      refused({ reason: 'forbidden', subject: principal.id, target: String(failure.details?.tool), correlationId });
    }
    throw error;
  }
}

/** Checks the model, and builds the prompt for it. */
async function preparePrompt(
  deps: TurnDeps,
  { input, session: { sessionId, userId }, model: own }: TurnInput,
  chat: Chat | undefined,
  prompt: { readonly promptMode: PromptMode; readonly meta: JsonObject },
  ctx: CallContext,
): Promise<PreparedPrompt> {
  const model = await deps.models.resolve(own ?? ownSlot(chat?.meta ?? {}), deps.model);
  if (!model.capabilities.attachments && attachments(input).length > 0) throw agentError('provider_not_supported');
  checkInput(model.limits, input);
  const request = promptRequest({ ...prompt, sessionId, userId, userText: userText(input), modelSlug: model.model });
  return { request, chatUpdatedAt: chat?.updatedAt, layers: await buildLayers(deps, request, ctx) };
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
