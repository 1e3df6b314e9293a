import type { LayerQuery, SystemLayers } from 'mortise/contracts/agent';
import { boundUser, type CallContext, type JsonObject } from 'mortise/sdk';
import { buildLayers } from './build-layers.js';
import { effectiveMode, readBusinessParams } from './business-params.js';
import { collaborationModes, readEvent, readMode } from './collaboration.js';
import { agentError } from './errors.js';
import { promptRequest, taskCommandOf } from './prompt-request.js';
import { toolScope } from './tool-scope.js';
import type { TurnDeps } from './turn-deps.js';

/** Builds a system prompt without running a turn. Parameters of the codex mode are checked in that mode only. */
export async function systemLayers(deps: TurnDeps, query: LayerQuery, ctx: CallContext): Promise<SystemLayers> {
  const { promptMode: wanted = 'default', sessionId } = query;
  const promptMode = effectiveMode(readBusinessParams({ prompt_mode: wanted }).promptMode, {});
  const stored = sessionId === undefined ? {} : await metaOf(deps, sessionId, ctx);
  const codex = promptMode === 'codex' ? readCodexQuery(query) : undefined;
  const meta = codex?.mode === undefined ? stored : { ...stored, collaboration_mode: codex.mode };
  const scope = toolScope(promptMode, meta);
  const tools = await deps.tools.registry.definitions(ctx.principal, scope);
  const request = promptRequest({
    promptMode,
    meta,
    userText: codex?.task === undefined ? '' : `/${codex.task}`,
    sessionId,
    tools: tools.map(({ name }) => name),
  });
  return {
    promptMode,
    collaborationMode: request.collaborationMode ?? collaborationModes[0],
    layers: await buildLayers(deps, request, ctx),
  };
}

function readCodexQuery({ taskCommand, collaborationMode, collaborationEvent }: LayerQuery) {
  const task = taskCommand === undefined ? undefined : taskCommandOf(`/${taskCommand.replace(/^\//, '')}`);
  if (taskCommand !== undefined && task === undefined) throw invalid('invalid task_command');
  const mode = collaborationMode === undefined ? undefined : readMode(collaborationMode);
  if (collaborationMode !== undefined && mode === undefined) throw invalid('invalid collaboration_mode');
  const event = collaborationEvent === undefined ? undefined : readEvent(collaborationEvent);
  if (collaborationEvent !== undefined && event === undefined) throw invalid('invalid collaboration_event');
  if (mode !== undefined && event !== undefined && mode !== event) throw invalid('conflicting collaboration_event');
  return { task, mode: mode ?? event };
}

/** The meta of the newest chat of a session that this caller may see. */
async function metaOf({ sessions }: TurnDeps, sessionId: string, { principal }: CallContext): Promise<JsonObject> {
  const userId = boundUser(principal);
  const chats = await sessions.listChats(userId === undefined ? {} : { userId });
  return chats.find(({ session }) => session.sessionId === sessionId)?.meta ?? {};
}

function invalid(message: string) {
  return agentError('invalid_request', { message });
}
