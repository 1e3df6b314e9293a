import { MortiseError } from 'mortise/sdk';

const table = {
  invalid_tool_input: [400, 'tool input command is required'],
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

/** `explain`: the documented sentence of the first violation. */
export function explainShell(errors: readonly { readonly path: string }[]): string | undefined {
  const member = errors[0]?.path.split('/').at(-1) ?? '';
  if (member === 'items' || /^\d+$/.test(member)) return 'tool input items must be a non-empty array of objects';
  return member === 'command' || member === 'cmd' ? 'tool input command is required' : undefined;
}
