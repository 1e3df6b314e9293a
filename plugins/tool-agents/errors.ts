import { MortiseError } from 'mortise/sdk';

const table = {
  invalid_tool_input: [400, 'invalid tool input'],
  invalid_request: [400, 'nothing is queued for this agent'],
  agent_not_found: [404, 'there is no such agent'],
  tool_not_available: [400, 'a sub-agent cannot start sub-agents'],
  tool_permission_denied: [400, 'this key may not act for another user'],
  tool_conflict: [409, 'the agent is running'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

/** Unknown agents share the code `invalid_request`, with another status. */
export function subAgentError(problem: keyof typeof table, message?: string): MortiseError {
  const [status, sentence] = table[problem];
  const code = problem === 'agent_not_found' ? 'invalid_request' : problem;
  return new MortiseError(code, message ?? sentence, { status });
}
