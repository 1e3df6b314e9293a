import { isCodedError, MortiseError } from 'mortise/sdk';
import { agentError, isAgentErrorCode } from './errors.js';

/** The stored result of a failed tool call, which the model is sent. */
export interface ToolError {
  /** Code of the socket protocol. */
  readonly error_code: 'UNKNOWN_TOOL' | 'INVALID_ARGS' | 'EXECUTION_ERROR' | 'TOOL_TIMEOUT';
  /** Code of the HTTP API. */
  readonly code: string;
  readonly message: string;
  readonly detail?: string;
  /** What to do next, as a sentence. */
  readonly hint?: string;
  /** Like the HTTP status, for direct callers only; those of the code when absent. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly status?: number;
}

export function unknownTool(
  name: string,
  code: 'tool_not_supported' | 'tool_disabled' = 'tool_not_supported',
): ToolError {
  return { error_code: 'UNKNOWN_TOOL', code, message: `Unknown tool: ${name}` };
}

export function invalidArguments(message: string, detail?: string): ToolError {
  return {
    error_code: 'INVALID_ARGS',
    code: 'invalid_tool_input',
    message,
    ...(detail === undefined ? {} : { detail }),
  };
}

/** The tool did not return a JSON object. */
export function invalidResult(name: string): ToolError {
  return { error_code: 'EXECUTION_ERROR', code: 'tool_invalid_result', message: `Tool ${name} failed` };
}

export function timedOut(name: string): ToolError {
  return { error_code: 'TOOL_TIMEOUT', code: 'tool_timeout', message: `Tool ${name} timed out` };
}

/** An error that a tool threw. Only the message of a coded error reaches the model: other texts may contain secrets. */
export function toolFailure(name: string, error: unknown): ToolError {
  if (!isCodedError(error)) {
    return { error_code: 'EXECUTION_ERROR', code: 'tool_invoke_failed', message: `Tool ${name} failed` };
  }
  const { code, message, details, status } = error;
  if (code === 'contribution_unknown') return unknownTool(name);
  // 500 is the status of an error without one.
  const hint = error instanceof MortiseError ? error.hint : undefined;
  const facts = {
    ...(hint === undefined ? {} : { hint }),
    ...(details === undefined ? {} : { details }),
    ...(status === undefined || status === 500 ? {} : { status }),
  };
  return { error_code: 'EXECUTION_ERROR', code, message: `Tool ${name} failed`, detail: message, ...facts };
}

/** The tool exists, but not in this mode or for this session. */
export function notAvailable(name: string, why: string): ToolError {
  return {
    error_code: 'EXECUTION_ERROR',
    code: 'tool_not_available',
    message: `Tool ${name} failed`,
    detail: `tool "${name}" is not available: ${why}`,
  };
}

/** A runtime tool without a gateway tool to run it. */
export function invokeFailed(name: string): ToolError {
  return { error_code: 'EXECUTION_ERROR', code: 'tool_invoke_failed', message: `Tool ${name} failed` };
}

/** Whether the call was refused because of its arguments, as opposed to having failed. */
export function isRefusal({ code, details }: ToolError): boolean {
  return (
    ['tool_disabled', 'tool_permission_denied', 'network_denied'].includes(code) || details?.reason === 'outside_roots'
  );
}

export function toolDisabled(name: string): MortiseError {
  const message = `tool "${name}" is disabled by server config`;
  return agentError('tool_disabled', { message, details: { tool: name } });
}

/** The error for a direct caller: a code of the error table, else `tool_invoke_failed` with the cause. */
export function directToolError(
  name: string,
  { error_code: kind, code, message, detail, hint, details, status }: ToolError,
): MortiseError {
  if (kind === 'INVALID_ARGS') return agentError('invalid_tool_input', { message });
  if (code === 'tool_not_supported') return agentError(code, { message: `tool "${name}" is not supported` });
  if (code === 'tool_disabled') return toolDisabled(name);
  if (code === 'tool_timeout') return agentError(code, { message: `tool "${name}" timed out` });
  if (code === 'tool_invalid_result') return agentError(code);
  if (code === 'RATE_LIMITED') return agentError('rate_limited', { message: detail });
  if (isAgentErrorCode(code) && detail !== undefined)
    return agentError(code, { message: detail, hint, details, status });
  const failed = `tool "${name}" invocation failed`;
  return agentError('tool_invoke_failed', {
    message: failed,
    ...(detail === undefined ? {} : { details: { cause: code, message: detail } }),
  });
}
