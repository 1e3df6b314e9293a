import type { TurnFailure } from 'mortise/contracts/agent';
import { errorTable, isCodedError, MortiseError } from 'mortise/sdk';

const table = errorTable({
  invalid_json: [400, 'invalid request body'],
  invalid_request: [400, 'invalid request'],
  invalid_channel: [400, 'invalid channel'],
  channel_not_supported: [400, 'the channel is not supported'],
  channel_disabled: [400, 'the channel is disabled'],
  channel_dispatch_failed: [502, 'the channel did not accept the reply'],
  actor_mismatch: [403, 'user_id is not the user this key belongs to'],
  invalid_tool_input: [400, 'invalid tool input'],
  tool_disabled: [403, 'the tool is disabled by server config'],
  tool_not_supported: [400, 'the tool is not supported'],
  tool_not_available: [400, 'the tool is not available here'],
  tool_permission_denied: [400, 'the tool is not allowed to do this'],
  tool_conflict: [409, 'the tool conflicts with another call'],
  tool_timeout: [504, 'the tool timed out'],
  tool_runtime_unavailable: [502, 'the tool cannot run on this machine'],
  tool_invoke_failed: [502, 'the tool failed'],
  tool_invalid_result: [502, 'the tool did not return a JSON object'],
  rate_limited: [429, 'too many requests'],
  ai_tool_guide_unavailable: [500, 'ai tool guide is unavailable'],
  codex_prompt_unavailable: [500, 'codex prompt is unavailable'],
  claude_prompt_unavailable: [500, 'claude prompt is unavailable'],
  provider_not_found: [404, 'provider not found'],
  model_not_found: [400, 'active model is not available for provider'],
  provider_not_supported: [400, 'provider does not support attachments'],
  provider_request_failed: [502, 'provider stream request failed'],
  provider_invalid_reply: [502, 'provider response contains tool calls but tool support is disabled'],
  context_too_large: [400, "the input exceeds the model's context"],
  runner_error: [500, 'the model adapter failed'],
  gate_dropped: [403, 'The message was refused by the gate'],
  session_busy: [429, 'too many turns are waiting for this session'],
  turn_queue_timeout: [503, 'the session was busy for too long'],
  adapter_cooldown: [503, 'the input adapter is cooling down after repeated failures'],
  backpressure: [503, 'the server is overloaded, please try again'],
  shutting_down: [503, 'the server is shutting down'],
  server_shutdown: [503, 'the server is shutting down'],
  plugin_stopping: [503, 'a plugin that the turn needs is being stopped'],
  client_closed: [499, 'the client disconnected'],
  agent_step_limit: [422, 'agent step limit reached'],
  agent_loop_detected: [422, 'the model repeats the same tool call'],
  agent_turn_timeout: [504, 'the turn took too long'],
  internal_error: [500, 'an internal error occurred'],
});

export const agentError = table.error;
export type AgentErrorCode = Parameters<typeof agentError>[0];
export const isAgentErrorCode: (code: string) => code is AgentErrorCode = table.has;

/** A coded error as a value; undefined for an unexpected one. */
export function failureOf(error: unknown): TurnFailure | undefined {
  if (!isCodedError(error)) return undefined;
  const { code, message, status, details } = error;
  const { hint, retryAfterSeconds }: Partial<MortiseError> = error instanceof MortiseError ? error : {};
  return {
    code,
    message,
    status: status ?? 500,
    ...(details === undefined ? {} : { details }),
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}
