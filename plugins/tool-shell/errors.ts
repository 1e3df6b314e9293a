import { explainMembers, MortiseError } from 'mortise/sdk';

const commandRequired = 'tool input command is required';

const table = {
  invalid_tool_input: [400, commandRequired],
  tool_permission_denied: [400, 'the command is not allowed'],
  tool_runtime_unavailable: [502, 'no shell is available on this machine'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

interface ShellErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  readonly hint?: string;
  readonly cause?: unknown;
}

export function shellError(code: keyof typeof table, message?: string, options: ShellErrorOptions = {}): MortiseError {
  const [status, sentence] = table[code];
  return new MortiseError(code, message ?? sentence, { status, ...options });
}

export const explainShell = explainMembers({ command: commandRequired, cmd: commandRequired });
