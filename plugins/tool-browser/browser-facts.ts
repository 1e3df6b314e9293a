import type { ToolFacts } from 'mortise/sdk';

/** In code, because the manifest lists a pattern: without an agent there is no tool, and nothing is missing. */
export const browserFacts: ToolFacts = {
  summary: 'Gives a task to an agent with a web browser.',
  description: 'Lets an agent with a web browser do a task, such as opening a page and reporting what is on it.',
  audience: ['agent'],
  capabilities: ['network', 'open_url', 'approx_click', 'approx_screenshot', 'web_fetch'],
  timeoutSeconds: 1_800,
  sideEffects: true,
  annotations: { openWorldHint: true },
  inputSchema: {
    type: 'object',
    required: ['items'],
    additionalProperties: false,
    properties: {
      items: {
        type: 'array',
        minItems: 1,
        maxItems: 16,
        items: {
          type: 'object',
          required: ['task'],
          additionalProperties: false,
          properties: {
            task: { type: 'string', minLength: 1, maxLength: 32_768, description: 'What to do.' },
            url: { type: 'string', maxLength: 4_096, description: 'Address that the task begins at.' },
            timeout_seconds: { type: 'number', description: 'Time limit in seconds; 120 when absent, at most 600.' },
          },
        },
      },
    },
  },
};
