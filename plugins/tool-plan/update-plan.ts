import type { SessionsService } from 'mortise/contracts/sessions';
import type { ToolContext } from 'mortise/sdk';
import { planError } from './errors.js';

interface PlanStep {
  readonly step: string;
  readonly status: 'pending' | 'in_progress' | 'completed';
}

interface PlanUpdate {
  readonly explanation?: string;
  readonly plan: readonly PlanStep[];
}

/** Stores the plan in the chat's meta. @throws invalid_tool_input, invalid_request without a chat */
export async function updatePlan(
  { explanation, plan }: PlanUpdate,
  { session }: ToolContext,
  sessions: SessionsService,
): Promise<object> {
  if (plan.filter(({ status }) => status === 'in_progress').length > 1) {
    throw planError('invalid_tool_input', 'at most one step can be in_progress');
  }
  const chat = session && (await sessions.currentChat(session));
  const steps = plan.map(({ step, status }) => ({ step, status }));
  const updatedAt = `${new Date().toISOString().slice(0, 19)}Z`;
  const stored = { ...(explanation === undefined ? {} : { explanation }), plan: steps, updated_at: updatedAt };
  if (!chat || !(await sessions.patchChatMeta(chat.id, { codex_update_plan: stored }))) {
    throw planError('invalid_request', 'the session has no chat');
  }
  return { ok: true, ...stored };
}
