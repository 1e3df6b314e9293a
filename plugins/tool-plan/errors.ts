import { MortiseError } from 'mortise/sdk';

const table = {
  invalid_json: [400, 'invalid request body'],
  invalid_request: [400, 'invalid request'],
  invalid_tool_input: [400, 'invalid tool input'],
  tool_not_available: [400, 'the tool is not available here'],
  tool_conflict: [409, 'the request id is pending'],
  tool_timeout: [504, 'there was no answer in time'],
  request_user_input_not_found: [404, 'request_user_input request not found'],
  request_user_input_mismatch: [409, 'request_user_input ownership mismatch'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

export function planError(
  code: keyof typeof table,
  message?: string,
  details?: Readonly<Record<string, unknown>>,
): MortiseError {
  const [status, sentence] = table[code];
  return new MortiseError(code, message ?? sentence, { status, ...(details === undefined ? {} : { details }) });
}
