import { isCodedError } from 'mortise/sdk';

/** What is stored, and what the model sees, when a tool call failed. */
export interface ToolError {
  /** For those who know the socket's words. */
  readonly error_code: 'UNKNOWN_TOOL' | 'INVALID_ARGS' | 'EXECUTION_ERROR' | 'TOOL_TIMEOUT';
  /** For those who know the words of HTTP. */
  readonly code: string;
  readonly message: string;
  readonly detail?: string;
}

export function unknownTool(name: string): ToolError {
  return { error_code: 'UNKNOWN_TOOL', code: 'tool_not_supported', message: `Unknown tool: ${name}` };
}

export function invalidArguments(message: string, detail?: string): ToolError {
  return {
    error_code: 'INVALID_ARGS',
    code: 'invalid_tool_input',
    message,
    ...(detail === undefined ? {} : { detail }),
  };
}

/** A tool that gave back what is no JSON object. */
export function invalidResult(name: string): ToolError {
  return { error_code: 'EXECUTION_ERROR', code: 'tool_invalid_result', message: `Tool ${name} failed` };
}

/** What a tool threw. Only the words of a coded error are for the model; any other text may hold anything. */
export function toolFailure(name: string, error: unknown): ToolError {
  if (!isCodedError(error)) {
    return { error_code: 'EXECUTION_ERROR', code: 'tool_invoke_failed', message: `Tool ${name} failed` };
  }
  const { code, message } = error;
  if (code === 'call_timeout') {
    return { error_code: 'TOOL_TIMEOUT', code: 'tool_timeout', message: `Tool ${name} timed out` };
  }
  if (code === 'contribution_unknown') return unknownTool(name);
  return { error_code: 'EXECUTION_ERROR', code, message: `Tool ${name} failed`, detail: message };
}
