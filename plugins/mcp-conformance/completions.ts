import type { McpCompletion } from 'mortise/contracts/mcp-server';

const words = ['paris', 'park', 'party', 'testing', 'test-value-1', 'test-value-2'];

/** Completions by contribution key. */
export const completions: Readonly<Record<string, McpCompletion>> = {
  'prompt-arguments': {
    ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
    complete: async ({ value }) => words.filter((word) => word.startsWith(value)),
  },
};
