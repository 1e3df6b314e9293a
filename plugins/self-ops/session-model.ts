import type { ModelsService } from 'mortise/contracts/models';
import { type SessionsService, wireTime } from 'mortise/contracts/sessions';
import { type CallContext, isCodedError, type ScheduleService } from 'mortise/sdk';
import type { SelfOpsAudit } from './audit.js';
import { invalidRequest, selfOpsError } from './errors.js';
import { checkUser, readObject, readRawText, readSession, readText } from './read-body.js';

export interface SessionModelDeps {
  readonly models: Pick<ModelsService, 'resolve'>;
  readonly sessions: Pick<SessionsService, 'currentChat' | 'patchChatMeta'>;
  readonly schedule: Pick<ScheduleService, 'now'>;
  readonly audit: SelfOpsAudit;
}

/**
 * Sets the model of a session's current chat. Other sessions and the active model stay as they are.
 * @throws invalid_request, actor_mismatch, session_not_found, session_model_invalid
 */
export async function setSessionModel(deps: SessionModelDeps, sessionId: string, given: unknown, ctx: CallContext) {
  const body = readObject(given);
  const providerId = readText(body, 'provider_id').toLowerCase();
  const model = readText(body, 'model');
  if ([sessionId, readRawText(body, 'user_id'), providerId, model].some((part) => part.trim() === '')) {
    throw invalidRequest('session_id, user_id, provider_id and model are required');
  }
  const session = readSession(body, sessionId);
  checkUser(ctx.principal, session);
  const chat = await deps.sessions.currentChat(session);
  if (!chat) throw selfOpsError('session_not_found', { details: { session_id: sessionId } });
  const resolved = await usable(deps, { providerId, model });
  const override = {
    provider_id: resolved.providerId,
    model: resolved.model,
    updated_at: wireTime(deps.schedule.now()),
  };
  if (!(await deps.sessions.patchChatMeta(chat.id, { active_llm_override: override }))) {
    throw selfOpsError('session_not_found', { details: { session_id: sessionId } });
  }
  const evidence = { chat_id: chat.id, provider_id: override.provider_id, model: override.model };
  await deps.audit.done('set-session-model', `chat:${chat.id}`, evidence, ctx);
  return { session_id: sessionId, chat_id: chat.id, active_llm_override: override };
}

async function usable({ models }: SessionModelDeps, slot: { readonly providerId: string; readonly model: string }) {
  try {
    return await models.resolve(slot);
  } catch (error) {
    if (!isCodedError(error) || (error.status ?? 500) >= 500) throw error;
    const details = { cause: error.code, provider_id: slot.providerId, model: slot.model };
    throw selfOpsError('session_model_invalid', { message: error.message, details });
  }
}
